import type { ClickHouseSettings } from '@clickhouse/client';
import { describe, expect, test } from 'vitest';
import type { ClickHouse } from './clickhouse.ts';
import { LogStoreError } from './log-store-error.ts';
import { migrate } from './migrate.ts';
import { loadMigrations } from './migrations.ts';

const SINGLE = { database: 'standin' };
const CLUSTER = { database: 'standin', cluster: 'main' };

interface Server {
  /** The applied migrations. Undefined if the database does not exist. */
  readonly applied: readonly number[] | undefined;
  /** Whether every node of the cluster that responds has all tables. An error if the user must not ask. */
  readonly hasAllTables?: boolean | LogStoreError;
}

/** Migrates on a simulated server. Returns the statements that change something. */
const changesOn = async (
  { applied, hasAllTables = true }: Server,
  target: { readonly database: string; readonly cluster?: string },
): Promise<readonly { readonly sql: string; readonly settings: ClickHouseSettings | undefined }[]> => {
  const changes: { sql: string; settings: ClickHouseSettings | undefined }[] = [];
  const run: ClickHouse['run'] = (_operation, { sql, settings }) => {
    if (sql.includes('FROM migrations')) {
      if (applied === undefined && changes.length === 0)
        throw new LogStoreError('no database', { kind: 'retryable', code: '81' });
      return Promise.resolve(Buffer.from((applied ?? []).map((number) => `{"number":${number}}\n`).join('')));
    }
    if (sql.includes('system')) {
      if (hasAllTables instanceof LogStoreError) throw hasAllTables;
      return Promise.resolve(Buffer.from([Number(hasAllTables)]));
    }
    changes.push({ sql, settings });
    return Promise.resolve(Buffer.alloc(0));
  };
  await migrate({ run } as ClickHouse, target);
  return changes;
};

const numbersOf = async (target: typeof SINGLE): Promise<readonly number[]> =>
  (await loadMigrations(target)).map(({ number }) => number);
const statementsOf = async (target: typeof SINGLE): Promise<readonly string[]> =>
  (await loadMigrations(target)).flatMap(({ statements }) => statements);

describe.each([SINGLE, CLUSTER])('a migration of %j', (target) => {
  test('creates everything on an empty server', async () => {
    const changes = (await changesOn({ applied: undefined }, target)).map(({ sql }) => sql);
    expect(changes).toEqual(expect.arrayContaining([...(await statementsOf(target))]));
    expect(changes[0]).toContain('CREATE DATABASE IF NOT EXISTS standin');
  });

  // In a cluster, a statement waits for every replica, so a replica that is down must not stop gateways that restart.
  test('changes nothing if the tables are up to date', async () => {
    const applied = await numbersOf(target);
    expect(await changesOn({ applied }, target)).toEqual([]);
    expect(await changesOn({ applied: [...applied, 999] }, target)).toEqual([]);
  });

  test('applies what is missing', async () => {
    const applied = await numbersOf(target);
    const changes = (await changesOn({ applied: applied.slice(0, -1) }, target)).map(({ sql }) => sql);
    const [last] = (await loadMigrations(target)).slice(-1);
    expect(changes).toEqual(expect.arrayContaining([...(last?.statements ?? [])]));
    expect(changes.filter((sql) => sql.startsWith('INSERT'))).toHaveLength(1);
  });
});

// The new node has neither the tables nor the columns, although the migrations are recorded as applied.
test.each([false, new LogStoreError('not allowed', { kind: 'retryable', code: '497' })])(
  'a node that was added to the cluster gets the tables: %s',
  async (hasAllTables) => {
    const changes = await changesOn({ applied: await numbersOf(CLUSTER), hasAllTables }, CLUSTER);
    expect(changes.map(({ sql }) => sql)).toEqual(expect.arrayContaining([...(await statementsOf(CLUSTER))]));
    expect(changes.filter(({ sql }) => sql.startsWith('INSERT'))).toEqual([]);
  },
);

test('a statement for a cluster ends before the client gives up, although a replica is down', async () => {
  const changes = await changesOn({ applied: undefined }, CLUSTER);
  const onCluster = changes.filter(({ sql }) => sql.includes('ON CLUSTER'));
  expect(onCluster.length).toBeGreaterThan(10);
  for (const { settings } of onCluster) {
    expect(settings?.distributed_ddl_output_mode).toBe('null_status_on_timeout');
    expect(Number(settings?.distributed_ddl_task_timeout)).toBeLessThan(30);
  }
});
