import { createClient, type ClickHouseClient } from '@clickhouse/client';
import { openLogStore, type LogStore } from '@standin/logstore';
import { afterAll, beforeAll, beforeEach, afterEach, expect, onTestFinished, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { eventually } from '../harness/eventually.ts';
import { freePort } from '../harness/ports.ts';
import { startProcess, type RunningProcess } from '../harness/processes.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

/** Tests log tables that are older or newer than this version of Standin, with the real engine. */

let clickHouse: TestClickHouse;
let client: ClickHouseClient;
let database: string;
let store: LogStore;
let databases = 0;

beforeAll(async () => {
  clickHouse = await startClickHouse();
  const { url, username, password } = clickHouse;
  client = createClient({ url, username, password });
});
afterAll(async () => {
  await client.close();
  await clickHouse.stop();
});
beforeEach(() => {
  database = `schema_${databases}`;
  databases += 1;
  store = openLogStore({ ...clickHouse, database });
});
afterEach(() => store.close());

const run = (query: string) => client.command({ query });
/** Removes the record of the last migration, so that the tables appear to be older than this version. */
const forgetLast = async (): Promise<void> => {
  await run(`CREATE TABLE ${database}.kept AS ${database}.migrations`);
  await run(`INSERT INTO ${database}.kept SELECT * FROM ${database}.migrations WHERE number != 4`);
  await run(`RENAME TABLE ${database}.migrations TO ${database}.all, ${database}.kept TO ${database}.migrations`);
};
const applyNewerMigration = (): Promise<unknown> =>
  run(`INSERT INTO ${database}.migrations (number, name) VALUES (999, '999_future')`);

test('distinguishes missing, current, newer and older tables', async () => {
  expect(await store.schema()).toEqual({ kind: 'missing' });
  await run(`CREATE DATABASE ${database}`);
  expect(await store.schema()).toEqual({ kind: 'missing' });
  await store.migrate();
  expect(await store.schema()).toEqual({ kind: 'current' });
  const newest = await client.query({
    query: `SELECT max(number) FROM ${database}.migrations`,
    format: 'TabSeparated',
  });
  const known = Number(await newest.text());
  await applyNewerMigration();
  expect(await store.schema()).toEqual({ kind: 'newer', applied: 999, known });
  await forgetLast();
  expect(await store.schema()).toEqual({ kind: 'older', pending: ['004_purged_permits'] });
});

/** Starts a gateway that must not migrate. It has no operator, because only its log messages matter. */
const startGateway = async (): Promise<RunningProcess> => {
  const [port, adminPort, operatorPort] = [await freePort(), await freePort(), await freePort()];
  const gateway = startProcess({
    name: 'gateway',
    main: 'gateway/src/main.ts',
    env: {
      ...clickHouse.env,
      STANDIN_CLICKHOUSE_DATABASE: database,
      STANDIN_CLICKHOUSE_MIGRATE: 'false',
      STANDIN_HOST: '127.0.0.1',
      STANDIN_PORT: String(port),
      STANDIN_ADMIN_HOST: '127.0.0.1',
      STANDIN_ADMIN_PORT: String(adminPort),
      STANDIN_DATA_DIR: await createTempFolder('gateway'),
      STANDIN_OPERATOR_URLS: `https://127.0.0.1:${operatorPort}`,
    },
  });
  onTestFinished(() => gateway.kill('SIGKILL').then(() => undefined));
  await gateway.waitForUrl(`http://127.0.0.1:${adminPort}/healthz`, 30_000);
  return gateway;
};
const untilLogged = (gateway: RunningProcess, text: string) =>
  eventually(`"${text}"`, () => gateway.logTail().join('\n'), {
    accept: (log) => log.includes(text),
    timeoutMs: 30_000,
  });

test.for([
  ['newer', applyNewerMigration, 'log tables newer than this version'],
  ['older', forgetLast, 'log tables older than this version'],
] as const)('a gateway with %s tables logs what to do and keeps running', async ([, change, message]) => {
  await store.migrate();
  await change();
  const gateway = await startGateway();
  await untilLogged(gateway, message);
  expect(gateway.logTail().join('\n')).not.toContain('fatal');
});
