import { rm } from 'node:fs/promises';
import { startEmbeddedEngine } from '@standin/engine';
import { startClickHouseCluster } from './clickhouse-cluster.ts';
import { CONTAINERS_VARIABLE } from './environment.ts';
import { createTempFolder } from './temp-folder.ts';

/** A real ClickHouse, empty, for one test file. `openLogStore(clickHouse)` connects to it. */
export interface TestClickHouse {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly database: string;
  /** The name of ClickHouse's cluster. Undefined for a single server. */
  readonly cluster?: string;
  /** The environment variables with which a gateway process connects to this ClickHouse. */
  readonly env: Readonly<Record<string, string>>;
  /** Pid of the embedded engine's process, for tests that kill it. Undefined in a container, or while the engine is not running. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

const SERVER_IMAGE = 'clickhouse/clickhouse-server:26.3';
const DATABASE = 'standin';

/** Set for tests that run a second time, on a cluster (vitest.config.ts). */
const CLUSTER_VARIABLE = 'STANDIN_TEST_CLICKHOUSE_CLUSTER';

/**
 * Starts the embedded engine behind its HTTP front, the server image with `npm test -- --containers`, or a cluster if
 * `CLUSTER_VARIABLE` is set.
 */
export const startClickHouse = (): Promise<TestClickHouse> => {
  if (process.env[CLUSTER_VARIABLE] === '1') return startClickHouseCluster();
  return process.env[CONTAINERS_VARIABLE] === '1' ? startInContainer() : startEmbedded();
};

const startEmbedded = async (): Promise<TestClickHouse> => {
  const dataDir = await createTempFolder('clickhouse');
  const engine = await startEmbeddedEngine({ dataDir });
  const { url, username, password } = engine;
  const address = { url, username, password, database: DATABASE };
  return {
    ...address,
    env: clickHouseEnv(address),
    get pid() {
      return engine.pid;
    },
    stop: async () => {
      await engine.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

const startInContainer = async (): Promise<TestClickHouse> => {
  const { ClickHouseContainer } = await import('@testcontainers/clickhouse');
  const container = await new ClickHouseContainer(SERVER_IMAGE).withDatabase(DATABASE).start();
  const address = {
    url: container.getHttpUrl(),
    username: container.getUsername(),
    password: container.getPassword(),
    database: DATABASE,
  };
  const stop = async (): Promise<void> => {
    await container.stop();
  };
  return { ...address, env: clickHouseEnv(address), pid: undefined, stop };
};

const clickHouseEnv = ({
  url,
  username,
  password,
  database,
}: Omit<TestClickHouse, 'env' | 'pid' | 'stop' | 'cluster'>) => ({
  STANDIN_CLICKHOUSE_URL: url,
  STANDIN_CLICKHOUSE_USERNAME: username,
  STANDIN_CLICKHOUSE_PASSWORD: password,
  STANDIN_CLICKHOUSE_DATABASE: database,
});
