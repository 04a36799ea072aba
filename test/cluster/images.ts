import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { baseImage, NODE_IMAGE } from './base-images.ts';
import { docker, dockerOrThrow } from './docker.ts';
import { startDockerEngine } from './docker-engine.ts';
import type { Progress } from './go-program.ts';
import { runCommand } from './run-command.ts';

/** Standin's images in the Docker engine that built them. */
export interface Images {
  /** `standin:VERSION`, which contains the operator, the gateway, the dashboard and the CLI. This image is the chart's default. */
  readonly standin: string;
  /** `standin-engine:VERSION`, which runs the embedded ClickHouse on port 8123. */
  readonly engine: string;
  /** Saves an image (`standin`, `engine` or PAUSE_IMAGE) to a tar file with `docker save`, for `ctr image import`. */
  save(image: string, tarFile: string): Promise<void>;
}

/** The image of the container that a kubelet starts first in each pod. Its only process sleeps. */
export const PAUSE_IMAGE = 'pause:local';

const ROOT = path.join(import.meta.dirname, '../..');
const BUILD_TIMEOUT_MS = 20 * 60_000;
const SAVE_TIMEOUT_MS = 5 * 60_000;
const PROGRESS_INTERVAL_MS = 10_000;
const FIRST_DOCKER_WITHOUT_BUILDKIT = 23;

/** `sleep` and the libraries that it needs, from the base image of the other images. */
const PAUSE_DOCKERFILE = `
ARG NODE_IMAGE
FROM \${NODE_IMAGE} AS files
RUN mkdir /rootfs && cp -a --parents -L /bin/sleep $(ldd /bin/sleep | grep -o '/[^ ]*') /rootfs
FROM scratch
COPY --from=files /rootfs/ /
ENV PATH=/bin
ENTRYPOINT ["/bin/sleep", "infinity"]
`;

/**
 * Builds the images of this checkout with this machine's Docker or the tests' own engine (startDockerEngine). The first build takes
 * minutes. If nothing has changed, a build takes seconds, because the engine keeps the layers. Throws MissingToolError if this
 * machine lacks a tool, and an Error with Docker's output if a build fails.
 */
export const buildImages = async (log: Progress): Promise<Images> => {
  const engine = await startDockerEngine(log);
  try {
    const wanted = NODE_IMAGE.exec(await readFile(path.join(ROOT, 'Dockerfile'), 'utf8'))?.[1];
    if (wanted === undefined) throw new Error('the Dockerfile contains no NODE_IMAGE');
    const base = await baseImage(wanted, log);
    // If the base image cannot be pulled, the image that removes containers of killed tests cannot be pulled either.
    if (base !== wanted) process.env['TESTCONTAINERS_RYUK_DISABLED'] ??= 'true';
    const version = await readVersion();
    const images = { standin: `standin:${version}`, engine: `standin-engine:${version}` };
    const common = [...['--network', 'host'], ...['--build-arg', `NODE_IMAGE=${base}`]];
    const ofCheckout = (target: string, tag: string): readonly string[] => [
      ...['build', ...common, '--build-arg', `VERSION=${version}`],
      ...['--target', target, '--tag', tag, ROOT],
    ];
    await build(images.standin, ofCheckout('standin', images.standin), log);
    await build(images.engine, ofCheckout('engine', images.engine), log);
    await build(PAUSE_IMAGE, ['build', ...common, '--tag', PAUSE_IMAGE, '-'], log, PAUSE_DOCKERFILE);
    if (engine.isOwn) await removeOldLayers();
    return { ...images, save: (image, tarFile) => save(image, tarFile, log) };
  } finally {
    await engine.stop();
  }
};

/** Returns the workspace's version, which is also the chart's appVersion. */
const readVersion = async (): Promise<string> =>
  (JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;

const build = async (name: string, args: readonly string[], log: Progress, dockerfile = ''): Promise<void> => {
  const started = Date.now();
  const seconds = (): number => Math.round((Date.now() - started) / 1000);
  const ticker = setInterval(() => log(`  building the image ${name}, ${seconds()} s`), PROGRESS_INTERVAL_MS);
  try {
    const { command, env } = await chooseBuilder();
    const result = await runCommand(command, args, { env, input: dockerfile, timeoutMs: BUILD_TIMEOUT_MS });
    if (result.code !== 0) {
      throw new Error(`the image ${name} cannot be built:\n${`${result.stdout}${result.stderr}`.slice(-4_000)}`);
    }
  } finally {
    clearInterval(ticker);
  }
};

/**
 * Chooses BuildKit if possible, which takes a fifth of the time of Docker's old builder. From release 23 on, docker uses BuildKit
 * through the buildx plugin. In earlier releases, BuildKit is built in. A newer docker without the plugin may precede Debian's
 * docker in the PATH.
 */
const chooseBuilder = async (): Promise<{ readonly command: string; readonly env: NodeJS.ProcessEnv }> => {
  if ((await docker(['buildx', 'version'])).code === 0) return { command: 'docker', env: process.env };
  for (const command of ['docker', '/usr/bin/docker']) {
    const version = await runCommand(command, ['version', '--format', '{{.Client.Version}}']).catch(() => undefined);
    if (version?.code !== 0 || Number.parseInt(version.stdout) >= FIRST_DOCKER_WITHOUT_BUILDKIT) continue;
    return { command, env: { ...process.env, DOCKER_BUILDKIT: '1' } };
  }
  return { command: 'docker', env: { ...process.env, DOCKER_BUILDKIT: '0' } };
};

/**
 * Removes unused build layers, and the images that the old builder leaves behind, which use gigabytes. Keeps recent layers and
 * images, because they can save minutes.
 */
const removeOldLayers = async (): Promise<void> => {
  for (const [kind, age] of [
    ['builder', '72h'],
    ['image', '6h'],
  ] as const) {
    await docker([kind, 'prune', '--force', '--filter', `until=${age}`], { timeoutMs: SAVE_TIMEOUT_MS });
  }
};

const save = async (image: string, tarFile: string, log: Progress): Promise<void> => {
  const engine = await startDockerEngine(log);
  try {
    await dockerOrThrow(['save', '--output', tarFile, image], { timeoutMs: SAVE_TIMEOUT_MS });
  } finally {
    await engine.stop();
  }
};
