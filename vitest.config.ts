import { defineConfig } from 'vitest/config';

/** Processes, sockets and timers on a busy machine: once may be chance. `npm test` names what needed it. */
const RETRY = 1;

const INTEGRATION = {
  setupFiles: ['test/harness/setup.ts'],
  fileParallelism: false,
  retry: RETRY,
  testTimeout: 60_000,
  hookTimeout: 120_000,
  // One second, vitest's default, is short on a machine that runs a cluster and a browser.
  expect: { poll: { timeout: 15_000 } },
};

/**
 * Projects by what they need: `unit` nothing, `integration` the ClickHouse engine, real sockets and a real Kubernetes API server
 * (test/harness starts them), `clickhouse-cluster` reads and writes of the log once more, as a cluster of ClickHouse has it; `torture` the same under
 * faults. All but `unit` file after file, because they measure time and memory of whole processes.
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
            '{packages,crds,operator,gateway,dashboard,cli}/**/*.test.ts',
            'test/{,cluster/**/,growth/}*.test.ts',
          ],
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/{integration,e2e,node}/**/*.test.ts'],
          ...INTEGRATION,
        },
      },
      {
        test: {
          name: 'clickhouse-cluster',
          include: ['test/integration/{logstore,log-tail,search,replay-results,usage,settled-permits}.test.ts'],
          env: { STANDIN_TEST_CLICKHOUSE_CLUSTER: '1' },
          ...INTEGRATION,
        },
      },
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
