import { readdir } from 'node:fs/promises';
import { LOG_TABLE, type Column, type Table } from '@standin/contract';
import { describe, expect, test } from 'vitest';
import { expandMacros, loadMigrations } from './migrations.ts';

/** The log of a later version. */
const LATER: Table = {
  ...LOG_TABLE,
  clientPort: { format: 'uint16', since: 5 },
  clientName: { format: 'name', since: 5, default: 'none' },
};

describe('loadMigrations', () => {
  test('a single node gets plain tables', async () => {
    const migrations = await loadMigrations({ database: 'standin' });
    const sql = migrations.flatMap(({ statements }) => statements).join('\n');
    expect(sql).toContain('CREATE TABLE IF NOT EXISTS standin.log ');
    expect(sql).toContain('ENGINE = ReplacingMergeTree(version)');
    expect(sql).not.toMatch(/ON CLUSTER|Replicated|Distributed|@/);
  });

  test('a cluster gets replicated tables on every node and a distributed one in front', async () => {
    const migrations = await loadMigrations({ database: 'standin', cluster: 'main' });
    const statements = migrations.flatMap((migration) => migration.statements);
    expect(statements.every((statement) => statement.includes('ON CLUSTER main'))).toBe(true);
    const sql = statements.join('\n');
    expect(sql).toContain(
      "ReplicatedReplacingMergeTree('/clickhouse/tables/standin/{table}/{shard}', '{replica}', version)",
    );
    expect(sql).toContain("Distributed('main', 'standin', 'log_local', cityHash64(project_uid))");
    expect(sql).not.toContain('@');
  });

  test.each([{}, { cluster: 'main' }])('statements can be repeated: %j', async (target) => {
    const migrations = await loadMigrations({ database: 'standin', ...target });
    for (const statement of migrations.flatMap(({ statements }) => statements)) {
      expect(statement).toMatch(/IF (NOT )?EXISTS/);
    }
  });

  test('columns that are appended to the log are added to the table, and in a cluster to the one in front, too', async () => {
    const statements = async (cluster?: string): Promise<readonly string[] | undefined> =>
      (await loadMigrations({ database: 'standin', cluster }, LATER)).find(({ number }) => number === 5)?.statements;
    const [local, distributed, ...more] = (await statements('main')) ?? [];
    expect(local?.replace(/\s+/g, ' ')).toBe(
      "ALTER TABLE standin.log_local ON CLUSTER main ADD COLUMN IF NOT EXISTS client_port UInt16 CODEC(ZSTD(1)), ADD COLUMN IF NOT EXISTS client_name LowCardinality(String) DEFAULT 'none'",
    );
    expect(distributed?.replace(/\s+/g, ' ')).toBe(
      "ALTER TABLE standin.log ON CLUSTER main ADD COLUMN IF NOT EXISTS client_port UInt16, ADD COLUMN IF NOT EXISTS client_name LowCardinality(String) DEFAULT 'none'",
    );
    expect(more).toEqual([]);
    expect(await statements()).toEqual([local?.replace('log_local ON CLUSTER main', 'log ')]);
  });

  test('columns are added in the order of a row, and no two files have the same number', async () => {
    const added = Object.values(LOG_TABLE).map((column: Column) => column.since ?? 0);
    expect(added).toEqual(added.toSorted((left, right) => left - right));
    const files = (await readdir(new URL('../migrations/', import.meta.url))).map((file) => file.slice(0, 3));
    expect(new Set(files).size).toBe(files.length);
  });

  test.each(['', 'a-b', 'a b', 'a;b', '1a', "a'b"])('rejects the name %j', async (name) => {
    await expect(loadMigrations({ database: name })).rejects.toThrow('must be up to 63 letters');
    await expect(loadMigrations({ database: 'standin', cluster: name })).rejects.toThrow('must be up to 63 letters');
  });
});

test('an unknown macro is an error', () => {
  expect(() => expandMacros('CREATE @tabel@', { table: 'x' })).toThrow('@tabel@');
});
