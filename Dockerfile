# Builds Standin's images. docs/guides/install.md describes what they are for and how to verify a published image.
#
#   docker build --target standin --tag standin .         operator, gateway, dashboard and the CLI
#   docker build --target engine --tag standin-engine .   the embedded ClickHouse, for evaluation and tests
#
# Works with any builder and does not need BuildKit. The same sources always result in the same layers.

# The same Node version as the dev dependency `node` in cli/package.json, on which the tests run (checked by test/images.test.ts).
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

# ── The runtime of both images: Node and its C libraries, without a shell or a package manager that would need updates. ──
FROM ${NODE_IMAGE} AS runtime
RUN set -eu; \
    packages="libc6 libgcc-s1 libstdc++6"; \
    mkdir -p /rootfs/usr/local/bin /rootfs/var/lib/dpkg/status.d /rootfs/etc; \
    cp /usr/local/bin/node /rootfs/usr/local/bin/node; \
    dpkg -L $packages | grep -E '/lib[^ ]*\.so(\.[0-9.]+)?$' | grep -v /gconv/ | xargs cp -a --parents -t /rootfs; \
    # Vulnerability scanners read these files to find the Debian release and the packages of the copied libraries.
    cp -a --parents /etc/os-release /usr/lib/os-release /etc/debian_version /rootfs; \
    for name in $packages; do \
      dpkg-query --status "$name" > "/rootfs/var/lib/dpkg/status.d/$name"; \
      cp -a --parents "/usr/share/doc/$name/copyright" /rootfs 2> /dev/null || true; \
    done; \
    printf 'root:x:0:0:root:/:/sbin/nologin\nstandin:x:65532:65532:standin:/tmp:/sbin/nologin\n' > /rootfs/etc/passwd; \
    printf 'root:x:0:\nstandin:x:65532:\n' > /rootfs/etc/group; \
    # Without this file, names are looked up in DNS before /etc/hosts.
    printf 'hosts: files dns\n' > /rootfs/etc/nsswitch.conf; \
    install -d -m 1777 /rootfs/tmp; \
    install -d /rootfs/standin; \
    find /rootfs -exec touch -h -d @0 {} +

# ── The npm packages in the lockfile ──
FROM ${NODE_IMAGE} AS manifests
WORKDIR /standin
COPY package.json package-lock.json .npmrc ./
COPY packages/contract/package.json packages/contract/
COPY packages/exchange/package.json packages/exchange/
COPY packages/logstore/package.json packages/logstore/
COPY packages/engine/package.json packages/engine/
COPY packages/egress/package.json packages/egress/
COPY packages/kube/package.json packages/kube/
COPY packages/process/package.json packages/process/
COPY packages/responses/package.json packages/responses/
COPY packages/signatures/package.json packages/signatures/
COPY crds/package.json crds/
COPY operator/package.json operator/
COPY gateway/package.json gateway/
COPY dashboard/package.json dashboard/
COPY cli/package.json cli/
COPY test/package.json test/

# The packages that the processes need in production. The embedded ClickHouse has a separate image.
FROM manifests AS production
RUN npm ci --omit=dev --omit=optional --ignore-scripts --workspace=cli \
 && rm node_modules/.package-lock.json \
 && find node_modules -type f '(' -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' ')' -delete \
 # Removes documentation, but keeps licences, both in separate files and in a README.
 && find node_modules -type f -name '*.md' ! -iname '*licen[cs]e*' ! -iname '*copying*' ! -iname '*notice*' -print0 \
    | xargs -0 grep --files-without-match --null --ignore-case -E 'copyright \(c\)|permission is hereby granted|redistribution and use' \
    | xargs -0 rm \
 && mkdir -p /modules/standin \
 && mv node_modules /modules/standin/ \
 # Sets the same permissions regardless of the umask.
 && chmod -R u=rwX,go=rX /modules \
 && find /modules -exec touch -h -d @0 {} +

FROM manifests AS development
RUN npm ci --ignore-scripts --workspace=dashboard --workspace=packages/engine

# ── The dashboard ──
FROM development AS dashboard
COPY tsconfig.json ./
COPY packages packages
COPY crds crds
COPY dashboard dashboard
# The name of the build depends on its sources. They would include the lockfile, which is not in the image.
RUN rm package-lock.json \
 && node --eval "import('/standin/dashboard/src/dashboard-build.ts').then(({ ensureDashboardBuild }) => ensureDashboardBuild())"

# ── The image with all processes ──
FROM production AS standin-files
COPY . .
COPY --from=dashboard /standin/dashboard/build dashboard/build
RUN rm -rf package-lock.json .npmrc tsconfig.json test \
 # Fails if the processes would not find the dashboard's build.
 && node --eval "import('/standin/dashboard/src/dashboard-build.ts').then(({ ensureDashboardBuild }) => ensureDashboardBuild(() => { throw new Error('the dashboard is built from other sources'); }))" \
 && mkdir /sources \
 && cp -a /standin /sources/ \
 && chmod -R u=rwX,go=rX /sources \
 && find /sources -exec touch -h -d @0 {} +

FROM scratch AS standin
COPY --from=runtime /rootfs/ /
COPY --from=production /modules/ /
COPY --from=standin-files /sources/ /
# The image has no /etc/localtime. Half of libuv's threads, by default two, look up names, and a silent name server blocks one for long.
ENV NODE_ENV=production PATH=/usr/local/bin TZ=UTC UV_THREADPOOL_SIZE=16
WORKDIR /standin
USER 65532:65532
ENTRYPOINT ["node", "cli/bin/standin.js"]
CMD ["--help"]
ARG VERSION=dev
ARG REVISION=unknown
ARG SOURCE=
LABEL org.opencontainers.image.title="standin" \
      org.opencontainers.image.description="HTTP endpoints that stand in for the real thing: operator, gateway, dashboard and CLI" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"

# ── The embedded ClickHouse ──
FROM development AS engine-files
COPY LICENSE ./
COPY packages/engine/src packages/engine/src
COPY packages/contract/src/error-message.ts packages/contract/src/insert-mark.ts packages/contract/src/
COPY packages/process/src/replace-file.ts packages/process/src/
RUN mkdir -p /modules/standin/node_modules /sources/standin \
 # chdb and the packages that it loads.
 && (cd node_modules && cp -a --parents chdb @chdb @clickhouse/client-common @standin/contract @standin/process -t /modules/standin/node_modules) \
 && cp -a --parents LICENSE package.json packages/engine packages/contract packages/process -t /sources/standin \
 && (cd /modules/standin && node --eval "require('chdb')") \
 && chmod -R u=rwX,go=rX /modules /sources \
 # As a volume, this folder must be writable by any user that the container runs as.
 && install -d -m 1777 /sources/var/lib/standin-engine \
 && find /modules /sources -exec touch -h -d @0 {} +

FROM scratch AS engine
COPY --from=runtime /rootfs/ /
COPY --from=engine-files /modules/ /
COPY --from=engine-files /sources/ /
# The image has no /etc/localtime.
ENV NODE_ENV=production PATH=/usr/local/bin TZ=UTC
WORKDIR /standin
USER 65532:65532
EXPOSE 8123
VOLUME /var/lib/standin-engine
ENTRYPOINT ["node", "packages/engine/src/container-init.ts"]
CMD ["--host", "0.0.0.0", "--port", "8123", "--data", "/var/lib/standin-engine"]
ARG VERSION=dev
ARG REVISION=unknown
ARG SOURCE=
LABEL org.opencontainers.image.title="standin-engine" \
      org.opencontainers.image.description="The ClickHouse engine that standin dev embeds, behind its HTTP interface: to try Standin out, not for production" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
