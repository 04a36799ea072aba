import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { defineConfig, type Plugin } from 'vite';
import { z } from 'zod';
import cli from '../package.json' with { type: 'json' };

const ROOT = path.join(import.meta.dirname, '../..');

/** The folder with the dashboard's build, from `packPackage`. */
const dashboardBuild = process.env['STANDIN_DASHBOARD_BUILD_DIR'] ?? '';

/** Matches the URL of a file that a child process or a worker runs. */
const STARTED_FILE = /new URL\('(\.\/[\w-]+\.ts)', import\.meta\.url\)/g;

/** Adds an entry for each file that a child process or a worker runs, and replaces its URL with that of the entry. */
const withStartedFiles: Plugin = {
  name: 'with-started-files',
  enforce: 'pre',
  transform(code, id) {
    return code.replaceAll(STARTED_FILE, (_, file: string) => {
      const name = `dist/started-${path.basename(file, '.ts')}`;
      const entry = this.emitFile({ type: 'chunk', id: path.resolve(path.dirname(id), file), name });
      return `new URL(import.meta.ROLLUP_FILE_URL_${entry})`;
    });
  },
};

/** Packages that the code loads by name, which the bundler does not see. */
const LOADED_BY_NAME = ['@faker-js/faker'];

const rootSchema = z.object({
  workspaces: z.array(z.string()),
  description: z.string(),
  license: z.string(),
  engines: z.object({ node: z.string() }),
});
const workspaceSchema = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
});

const readPackageJson = async (folder: string): Promise<unknown> =>
  JSON.parse(await readFile(path.join(ROOT, folder, 'package.json'), 'utf8'));

/** Returns `@scope/name` for `@scope/name/file`. */
const packageName = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** Writes a package.json whose dependencies are the packages that the bundle imports, in the versions of the workspaces. */
const withPackageJson: Plugin = {
  name: 'with-package-json',
  async generateBundle(_, bundle) {
    const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
    const imported = chunks
      .flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])
      .filter((specifier) => !Object.hasOwn(bundle, specifier) && !specifier.startsWith('node:'));
    const names = new Set([...imported.map(packageName), ...LOADED_BY_NAME]);
    const root = rootSchema.parse(await readPackageJson('.'));
    const workspaces = await Promise.all(
      root.workspaces.map(async (folder) => workspaceSchema.parse(await readPackageJson(folder))),
    );
    const used = (field: keyof z.infer<typeof workspaceSchema>) => {
      const all = Object.entries(Object.assign({}, ...workspaces.map((workspace) => workspace[field])) as object);
      return Object.fromEntries(all.filter(([name]) => names.delete(name)).sort());
    };
    const source = {
      name: 'standin',
      version: cli.version,
      description: root.description,
      license: root.license,
      type: 'module',
      engines: root.engines,
      exports: { './client': './client/index.js', './package.json': './package.json' },
      bin: { standin: 'bin/standin.js', 'kubectl-standin': 'bin/kubectl-standin.js' },
      dependencies: used('dependencies'),
      optionalDependencies: used('optionalDependencies'),
    };
    if (names.size > 0) this.error(`no workspace depends on ${[...names].join(', ')}`);
    this.emitFile({ type: 'asset', fileName: 'package.json', source: `${JSON.stringify(source, null, 2)}\n` });
    // Otherwise, the package would have to contain more licences than those of the pages.
    const foreign = [...this.getModuleIds()].filter((id) => id.includes('/node_modules/'));
    if (foreign.length > 0) this.error(`the bundle contains code of npm packages: ${foreign.join(', ')}`);
  },
};

/**
 * Bundles the workspaces for `packPackage`, because Node does not strip types in `node_modules`. The npm packages that they need
 * become dependencies.
 */
export default defineConfig({
  root: path.join(import.meta.dirname, '..'),
  plugins: [withStartedFiles, withPackageJson],
  build: {
    ssr: true,
    emptyOutDir: true,
    target: 'node22',
    minify: false,
    rollupOptions: {
      input: {
        'dist/standin': path.join(ROOT, 'cli/src/main.ts'),
        'dist/kubectl-standin': path.join(ROOT, 'cli/plugin/main.ts'),
        'build/server/index': path.join(dashboardBuild, 'server/index.js'),
      },
      output: { entryFileNames: '[name].js', chunkFileNames: 'dist/[name]-[hash].js' },
    },
  },
});
