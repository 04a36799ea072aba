import path from 'node:path';
import { vitePlugin as remix } from '@remix-run/dev';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig, type Plugin } from 'vite';
import { thirdPartyLicences } from './src/third-party-licences.ts';

/** Set by `ensureDashboardBuild`, which builds next to what other processes run from, and moves it into place when it is whole. */
const buildDirectory = process.env['STANDIN_DASHBOARD_BUILD_DIR'] ?? path.join(import.meta.dirname, 'build/manual');

/**
 * The server's bundle leaves our packages to Node: it and the process must share one class SourceError. (`ssr.external` does not: it
 * passes over packages that are TypeScript.)
 */
const leaveOursToNode: Plugin = {
  name: 'leave-ours-to-node',
  enforce: 'pre',
  resolveId: (id, _, { ssr }) => (ssr === true && id.startsWith('@standin/') ? { id, external: true } : undefined),
};

/** Placed next to what browsers load, for those who get it. Packages of style sheets and fonts are no modules; Tailwind watches their files. */
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
        // Its endpoint matches every part of a path that anyone sends against all routes: 10 s for a request of 7 kB (CVE-2026-55685).
        v3_lazyRouteDiscovery: false,
        v3_relativeSplatPath: true,
        v3_routeConfig: true,
        v3_singleFetch: true,
        v3_throwAbortReason: true,
      },
    }),
  ],
  // The pages have 44 of its icons. From the package, the server would load all of them, which takes 28 MiB.
  ssr: { noExternal: ['lucide-react'] },
  build: { target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
});
