import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { defineConfig } from 'vitest/config';
import { REHEARSAL_VARIABLE } from './test/harness/environment.ts';

/** On a busy machine, a test with processes, sockets and timers may fail once. `npm test` lists the tests that were retried. */
const RETRY = 1;

/** More files at the same time would be limited by the memory and the one API server that they share. */
const WORKERS_MAX = 4;
const WORKERS = Math.min(availableParallelism(), WORKERS_MAX);

/**
 * These files measure time or memory so exactly that other files would change the results, so no other file runs at the same time.
 */
const ALONE = ['test/e2e/dashboard-traffic-load.test.ts', 'test/torture/{29,34,43,45,46,47}-*.test.ts'];
/** `npm run rehearse` runs these files only. */
const REHEARSAL = ['test/rehearsal/**/*.test.ts'];

/** Lists the files instead of using `exclude`, because a project with its own `exclude` ignores that of the command line. */
const concurrentFiles = (): string[] => {
  const alone = new Set(globSync(ALONE, { cwd: import.meta.dirname }));
  const all = globSync('test/{integration,e2e,node,torture}/**/*.test.ts', { cwd: import.meta.dirname });
  return all.filter((file) => !alone.has(file));
};

/** Vitest's default of one second is too short on a busy machine. */
const PATIENT = { poll: { timeout: 15_000 } };

const isRehearsal = process.env[REHEARSAL_VARIABLE] === '1';

const INTEGRATION = {
  setupFiles: ['test/harness/setup.ts'],
  retry: RETRY,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: PATIENT,
};

/** Vitest starts a group when the previous one has ended. Projects with one worker run last. */
const CONCURRENT = { maxWorkers: WORKERS, sequence: { groupOrder: 1 } };

/**
 * Projects by their requirements. `unit` has none. `integration` needs the ClickHouse engine, real sockets and a real Kubernetes
 * API server, which test/harness starts. `clickhouse-cluster` repeats the reads and writes of the log on a ClickHouse cluster.
 * `growth` measures CPU time. `alone` runs one file at a time.
 */
export default defineConfig({
  test: {
    // Provides the cluster that all projects share. Starts it when a test needs it.
    globalSetup: ['test/harness/global-setup.ts'],
    projects: isRehearsal
      ? [{ test: { name: 'rehearsal', include: REHEARSAL, fileParallelism: false, ...INTEGRATION } }]
      : [
          {
            test: {
              name: 'unit',
              // Loading the modules again for each file would take longer than the tests.
              isolate: false,
              // Many unit tests wait for timers. They are not retried, so they do not run at the same time as tests that load the machine.
              maxWorkers: WORKERS + 2,
              sequence: { groupOrder: 2 },
              // Vitest's default of five seconds is too short while other projects run.
              testTimeout: 20_000,
              expect: PATIENT,
              include: [
                '{packages,crds,operator,gateway,dashboard,cli,charts}/**/*.test.ts',
                'test/{,suite/,cluster/**/}*.test.ts',
              ],
            },
          },
          {
            test: {
              name: 'integration',
              include: concurrentFiles(),
              ...INTEGRATION,
              ...CONCURRENT,
            },
          },
          {
            test: {
              name: 'clickhouse-cluster',
              include: [
                'test/integration/{logstore,log-tail,search,replay-results,usage,settled-permits,purged-requests}.test.ts',
              ],
              env: { STANDIN_TEST_CLICKHOUSE_CLUSTER: '1' },
              ...INTEGRATION,
              ...CONCURRENT,
            },
          },
          { test: { name: 'alone', include: ALONE, fileParallelism: false, ...INTEGRATION } },
          // Measures the CPU time of its own thread, and the shortest of several times counts, so other files may run at the same time.
          { test: { name: 'growth', include: ['test/growth/**/*.test.ts'], retry: RETRY, ...CONCURRENT } },
        ],
  },
});
