import path from 'node:path';
import { thirdPartyLicences } from '@standin/dashboard/third-party-licences';
import { defineConfig, type Plugin } from 'vite';

/** ES modules have no `require`, but some bundled packages call it to load code on demand. */
const banner = `import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);`;

/** Writes the licences of the bundled packages next to the code. */
const withLicences: Plugin = {
  name: 'with-licences',
  async generateBundle() {
    const source = await thirdPartyLicences(this.getModuleIds());
    this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY-LICENCES', source });
  },
};

/** Bundles `kubectl standin` into one folder, for `packPlugin`. */
export default defineConfig({
  root: path.join(import.meta.dirname, '..'),
  plugins: [withLicences],
  // chdb is the engine for `standin dev`, which the plugin does not include.
  ssr: { noExternal: true, external: ['chdb'] },
  // Without these variables, `ws` would look for optional native modules and find empty ones in the bundle.
  define: { 'process.env.WS_NO_BUFFER_UTIL': '"1"', 'process.env.WS_NO_UTF_8_VALIDATE': '"1"' },
  build: {
    ssr: 'plugin/main.ts',
    emptyOutDir: true,
    target: 'node22',
    minify: false,
    rollupOptions: { output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js', banner } },
  },
});
