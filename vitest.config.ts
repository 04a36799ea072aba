import { globSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

/** Processes, sockets and timers on a busy machine: once may be chance. `npm test` names what needed it. */
const RETRY = 1;

/** Tests mostly wait: for sockets, timers, a browser, the start of a process. Two files side by side use what one leaves idle. */
const WORKERS = 2;

/** These files measure time, memory or the whole machine, or load all of it: no other file runs at the same time. */
const ALONE = [
  'test/e2e/{dashboard-traffic-load,high-availability,key-regeneration,main-job}.test.ts',
  'test/integration/{images,kube-leader-election}.test.ts',
  'test/node/**/*.test.ts',
];

/** Listed, because a project with an `exclude` of its own would ignore that of the command line. */
const sideBySide = (): string[] => {
  const alone = new Set(globSync(ALONE, { cwd: import.meta.dirname }));
  const all = globSync('test/{integration,e2e}/**/*.test.ts', { cwd: import.meta.dirname });
  return all.filter((file) => !alone.has(file));
};

const INTEGRATION = {
  setupFiles: ['test/harness/setup.ts'],
  retry: RETRY,
  testTimeout: 60_000,
  hookTimeout: 120_000,
  // One second, vitest's default, is short on a machine that runs a cluster and a browser.
  expect: { poll: { timeout: 15_000 } },
};

/** vitest starts a group when the one before has ended. Projects with one worker are last: with two cores also `unit`, which has no retry. */
const SIDE_BY_SIDE = { maxWorkers: WORKERS, sequence: { groupOrder: 1 } };

/**
 * Projects by what they need: `unit` nothing, `integration` the ClickHouse engine, real sockets and a real Kubernetes API server
 * (test/harness starts them), `clickhouse-cluster` reads and writes of the log once more, as a cluster of ClickHouse has it; `torture` the same under
 * faults. `alone`, `growth` and `torture` run file after file, because they measure time and memory of whole processes.
 */
export default defineConfig({
  test: {
    // Offers the cluster that all projects share; starts it when a test asks.
    globalSetup: ['test/harness/global-setup.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          // Five seconds, vitest's default, are few where everything else runs at the same time.
          testTimeout: 20_000,
          include: [
            '{packages,crds,operator,gateway,dashboard,cli,charts}/**/*.test.ts',
            'test/{,cluster/**/}*.test.ts',
          ],
        },
      },
      {
        test: {
          name: 'integration',
          include: sideBySide(),
          ...INTEGRATION,
          ...SIDE_BY_SIDE,
        },
      },
      {
        test: {
          name: 'clickhouse-cluster',
          include: ['test/integration/{logstore,log-tail,search,replay-results,usage,settled-permits}.test.ts'],
          env: { STANDIN_TEST_CLICKHOUSE_CLUSTER: '1' },
          ...INTEGRATION,
          ...SIDE_BY_SIDE,
        },
      },
      { test: { name: 'alone', include: ALONE, fileParallelism: false, ...INTEGRATION } },
      { test: { name: 'growth', include: ['test/growth/**/*.test.ts'], fileParallelism: false } },
      {
        test: {
          name: 'torture',
          include: ['test/torture/**/*.test.ts'],
          setupFiles: ['test/harness/setup.ts'],
          fileParallelism: false,
          retry: RETRY,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
