import path from 'node:path';
import { vitePlugin as remix } from '@remix-run/dev';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig, type Plugin } from 'vite';
import { thirdPartyLicences } from './src/third-party-licences.ts';

/** Set by `ensureDashboardBuild`, which builds in a temporary folder and renames it when the build is complete. */
const buildDirectory = process.env['STANDIN_DASHBOARD_BUILD_DIR'] ?? path.join(import.meta.dirname, 'build/manual');

/**
 * Excludes our packages from the server bundle, because the bundle and the process must share the class SourceError. `ssr.external`
 * cannot do this, because it ignores packages written in TypeScript.
 */
const leaveOursToNode: Plugin = {
  name: 'leave-ours-to-node',
  enforce: 'pre',
  resolveId: (id, _, { ssr }) => (ssr === true && id.startsWith('@standin/') ? { id, external: true } : undefined),
};

/**
 * Adds the third-party licences to the client build. Packages with style sheets and fonts are not modules, but Tailwind watches
 * their files.
 */
const withLicences: Plugin = {
  name: 'with-licences',
  applyToEnvironment: ({ name }) => name === 'client',
  async generateBundle() {
    const source = await thirdPartyLicences([...this.getModuleIds(), ...this.getWatchFiles()]);
    this.emitFile({ type: 'asset', fileName: 'third-party-licences.txt', source });
  },
};

export default defineConfig({
  plugins: [
    leaveOursToNode,
    withLicences,
    tailwindcss(),
    remix({
      buildDirectory,
      ignoredRouteFiles: ['**/*'],
      future: {
        v3_fetcherPersist: true,
        // Disabled because its endpoint matches each part of any given path against all routes. A request of 7 kB takes 10 s
        // (CVE-2026-55685).
        v3_lazyRouteDiscovery: false,
        v3_relativeSplatPath: true,
        v3_routeConfig: true,
        v3_singleFetch: true,
        v3_throwAbortReason: true,
      },
    }),
  ],
  // Bundled because the pages use only a few of its icons. Loaded from the package, all icons would take 28 MiB.
  ssr: { noExternal: ['lucide-react'] },
  build: { target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
});
