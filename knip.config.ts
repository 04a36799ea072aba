import type { KnipConfig } from 'knip';

/**
 * `npm run check` fails on files, exports and dependencies that nothing uses. knip finds what is started by package.json, by Vite,
 * by vitest and by another module. The entries below are files that something else starts: an image, a test that runs a
 * process, a person. `!` marks what runs in production: a package that only other files need is a dev dependency.
 */
const config: KnipConfig = {
  // Programs of the operating system. docs/testing.md lists them.
  exclude: ['binaries'],
  // In the same folder of the plugin's archive.
  ignoreUnresolved: ['./lib/main.js'],
  workspaces: {
    'packages/engine': { entry: ['src/{main,container-init}.ts!'] },
    'packages/process': { entry: ['src/run-process.testing.ts'] },
    cli: {
      entry: ['src/main.ts!', 'plugin/main.ts!', 'bin/start.js', 'plugin/kubectl-standin.js'],
      vite: { config: ['plugin/vite.config.ts'] },
    },
    operator: { entry: ['src/main.ts!'] },
    gateway: { entry: ['src/main.ts!'] },
    dashboard: { entry: ['src/main.ts!'] },
    test: {
      entry: [
        'suite/{run,check,generated-files}.ts',
        'bench/rival-server.ts',
        'bench/logstore/{main,search}.ts',
        'harness/{end-with-parent.js,event-loop-monitor.ts,shift-clock.ts}',
        'torture/{crash-after-ledger-write,freeze-before-ledger-write,dns-double}.ts',
      ],
    },
  },
};

export default config;
