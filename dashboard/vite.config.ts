import path from 'node:path';
import { vitePlugin as remix } from '@remix-run/dev';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';

/** Set by `ensureDashboardBuild`, which builds beside what other processes run from, and moves it into place when it is whole. */
const buildDirectory = process.env['STANDIN_DASHBOARD_BUILD_DIR'] ?? path.join(import.meta.dirname, 'build/manual');

export default defineConfig({
  plugins: [
    tailwindcss(),
    remix({
      buildDirectory,
      ignoredRouteFiles: ['**/*'],
      future: {
        v3_fetcherPersist: true,
        v3_lazyRouteDiscovery: true,
        v3_relativeSplatPath: true,
        v3_routeConfig: true,
        v3_singleFetch: true,
        v3_throwAbortReason: true,
      },
    }),
  ],
  // Loaded by Node itself: the process and the server bundle must share one SourceError.
  ssr: { external: ['@standin/contract', '@standin/crds', '@standin/kube', '@standin/logstore'] },
  build: { target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
});
