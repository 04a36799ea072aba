import path from 'node:path';
import { thirdPartyLicences } from '@standin/dashboard/third-party-licences';
import { defineConfig, type Plugin } from 'vite';

/** What some packages load when they need it is a `require` in the bundle's modules, too, which have none. */
const banner = `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`;

/** Beside the code, whose code it is. */
const withLicences: Plugin = {
  name: 'with-licences',
  async generateBundle() {
    const source = await thirdPartyLicences(this.getModuleIds());
    this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY-LICENCES', source });
  },
};

/** All of `kubectl standin` in one folder, for `packPlugin`. */
export default defineConfig({
  root: path.join(import.meta.dirname, '..'),
  plugins: [withLicences],
  // chdb is the engine of `standin dev`, which the plugin does not have.
  ssr: { noExternal: true, external: ['chdb'] },
  // Native code that `ws` uses where it is installed; in a bundle it would take an empty module for that.
  define: { 'process.env.WS_NO_BUFFER_UTIL': '"1"', 'process.env.WS_NO_UTF_8_VALIDATE': '"1"' },
  build: {
    ...{ ssr: 'src/plugin/main.ts', emptyOutDir: true, target: 'node22', minify: false },
    rollupOptions: { output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js', banner } },
  },
});
