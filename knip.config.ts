import type { KnipConfig } from 'knip';

/**
 * `npm run check` runs knip, which fails on files, exports and dependencies that nothing uses. knip itself finds the files that
 * package.json, Vite, vitest and other modules use. The entries below are files that something else starts: an image, a test that
 * starts a process, or a user. `!` marks entries that run in production. Packages that only other files need are dev dependencies.
 */
const config: KnipConfig = {
  // Programs of the operating system, which docs/internals/testing.md lists.
  exclude: ['binaries'],
  // These files exist only in the plugin's archive and in the npm package.
  ignoreUnresolved: ['./lib/main.js', '../dist/standin.js', '../dist/kubectl-standin.js'],
  workspaces: {
    '.': { entry: ['docs/.vitepress/config.ts'] },
    'packages/engine': { entry: ['src/{main,container-init}.ts!'] },
    'packages/process': { entry: ['src/run-process.testing.ts'] },
    cli: {
      entry: ['bin/start.js', '{plugin,package}/*standin.js'],
      vite: { config: ['{plugin,package}/vite.config.ts'] },
      // Runs this checkout where the system's Node is too old (cli/bin/ensure-installed.js).
      ignoreDependencies: ['node'],
    },
    operator: { entry: ['src/main.ts!'] },
    gateway: { entry: ['src/main.ts!'] },
    dashboard: { entry: ['src/main.ts!'] },
    test: {
      entry: [
        'suite/{run,check,generated-files,lint,build-site,results-reporter}.ts',
        'bench/{kubernetes-client,rival-server,switch-refusal-counts}.ts',
        'bench/logstore/{main,search}.ts',
        'harness/{earlier-version.ts,end-with-parent.js,event-loop-monitor.ts,shift-clock.ts}',
        'torture/{crash-after-write,dns-double,fail-undone-writes,freeze-before-ledger-write}.ts',
      ],
    },
  },
};

export default config;
