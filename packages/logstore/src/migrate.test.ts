import type { ClickHouseSettings } from '@clickhouse/client';
import { describe, expect, test } from 'vitest';
import type { ClickHouse } from './clickhouse.ts';
import { LogStoreError } from './log-store-error.ts';
import { migrate } from './migrate.ts';
import { loadMigrations } from './migrations.ts';

const SINGLE = { database: 'standin' };
const CLUSTER = { database: 'standin', cluster: 'main' };
/** The definition of a table on a node that has it, which has the columns of all migrations. */
const LOG = 'CREATE TABLE standin.log_local (id UUID, response String) ENGINE = X';

interface Server {
  /** The applied migrations. Undefined if the database does not exist. */
  readonly applied: readonly number[] | undefined;
  /** Whether every node of the cluster that responds has all tables. An error if the user must not ask. */
  readonly hasAllTables?: boolean | LogStoreError;
  /** Whether no node has tables. */
  readonly isEmpty?: boolean;
  /** The statements that fail. */
  readonly refused?: RegExp;
}

/** Migrates on a simulated server. Returns the statements that change something. */
const changesOn = async (
  { applied, hasAllTables = true, isEmpty = false, refused }: Server,
  target: { readonly database: string; readonly cluster?: string },
): Promise<readonly { readonly sql: string; readonly settings: ClickHouseSettings | undefined }[]> => {
  const changes: { sql: string; settings: ClickHouseSettings | undefined }[] = [];
  const run: ClickHouse['run'] = (_operation, { sql, settings }) => {
    if (sql.includes('FROM migrations')) {
      if (applied === undefined && changes.length === 0)
        throw new LogStoreError('no database', { kind: 'retryable', code: '81' });
      return Promise.resolve(Buffer.from((applied ?? []).map((number) => `{"number":${number}}\n`).join('')));
    }
    if (sql.includes('create_table_query'))
      return Promise.resolve(isEmpty ? Buffer.alloc(0) : Buffer.from([LOG.length, ...Buffer.from(LOG)]));
    if (sql.includes('system')) {
      if (hasAllTables instanceof LogStoreError) throw hasAllTables;
      return Promise.resolve(Buffer.from([Number(hasAllTables)]));
    }
    changes.push({ sql, settings });
    if (refused?.test(sql) === true) throw new LogStoreError('other columns', { kind: 'retryable', code: '122' });
    return Promise.resolve(Buffer.alloc(0));
  };
  await migrate({ run } as ClickHouse, target);
  return changes;
};

const migrationNumbers = async (target: typeof SINGLE): Promise<readonly number[]> =>
  (await loadMigrations(target)).map(({ number }) => number);
const migrationStatements = async (target: typeof SINGLE): Promise<readonly string[]> =>
  (await loadMigrations(target)).flatMap(({ statements }) => statements);

describe.each([SINGLE, CLUSTER])('a migration of %j', (target) => {
  test('creates everything on an empty server', async () => {
    const changes = (await changesOn({ applied: undefined, hasAllTables: false, isEmpty: true }, target)).map(
      ({ sql }) => sql,
    );
    expect(changes).toEqual(expect.arrayContaining([...(await migrationStatements(target))]));
    expect(changes[0]).toContain('CREATE DATABASE IF NOT EXISTS standin');
  });

  // In a cluster, a statement waits for every replica, so a replica that is down must not stop gateways that restart.
  test('changes nothing if the tables are up to date', async () => {
    const applied = await migrationNumbers(target);
    expect(await changesOn({ applied }, target)).toEqual([]);
    expect(await changesOn({ applied: [...applied, 999] }, target)).toEqual([]);
  });

  test('applies what is missing', async () => {
    const applied = await migrationNumbers(target);
    const changes = (await changesOn({ applied: applied.slice(0, -1) }, target)).map(({ sql }) => sql);
    const [last] = (await loadMigrations(target)).slice(-1);
    expect(changes).toEqual(expect.arrayContaining([...(last?.statements ?? [])]));
    expect(changes.filter((sql) => sql.startsWith('INSERT'))).toHaveLength(1);
  });
});

// The new node has neither the tables nor the columns, although the migrations are recorded as applied. ClickHouse refuses a replica
// with the columns of the first migration only.
test.each([0, -1])('a node that was added to the cluster gets the tables as they are on the others', async (end) => {
  const applied = (await migrationNumbers(CLUSTER)).slice(0, end === 0 ? undefined : end);
  const changes = (await changesOn({ applied, hasAllTables: false }, CLUSTER)).map(({ sql }) => sql);
  expect(changes.slice(0, 2)).toEqual([
    'CREATE DATABASE IF NOT EXISTS standin ON CLUSTER main',
    'CREATE TABLE IF NOT EXISTS standin.log_local ON CLUSTER main (id UUID, response String) ENGINE = X',
  ]);
  expect(changes).toEqual(expect.arrayContaining([...(await migrationStatements(CLUSTER))]));
  expect(changes.filter((sql) => sql.startsWith('INSERT'))).toHaveLength(end === 0 ? 0 : 1);
});

test('a node that was added gets the tables although it is the one that migrates', async () => {
  const changes = (await changesOn({ applied: undefined, hasAllTables: false }, CLUSTER)).map(({ sql }) => sql);
  expect(changes[1]).toBe(
    'CREATE TABLE IF NOT EXISTS standin.log_local ON CLUSTER main (id UUID, response String) ENGINE = X',
  );
});

test('a node that gets no tables does not stop deliveries, which wait for the migration', async () => {
  const applied = await migrationNumbers(CLUSTER);
  const refused = /^CREATE TABLE/;
  expect(await changesOn({ applied, hasAllTables: false, refused }, CLUSTER)).toHaveLength(2);
  const mustNotAsk = new LogStoreError('not allowed', { kind: 'retryable', code: '497' });
  expect(await changesOn({ applied, hasAllTables: mustNotAsk }, CLUSTER)).toEqual([]);
});

test('a statement for a cluster ends before the client gives up, although a replica is down', async () => {
  const changes = await changesOn({ applied: undefined }, CLUSTER);
  const onCluster = changes.filter(({ sql }) => sql.includes('ON CLUSTER'));
  expect(onCluster.length).toBeGreaterThan(4);
  for (const { settings } of onCluster) {
    expect(settings?.distributed_ddl_output_mode).toBe('null_status_on_timeout');
    expect(Number(settings?.distributed_ddl_task_timeout)).toBeLessThan(30);
  }
});
