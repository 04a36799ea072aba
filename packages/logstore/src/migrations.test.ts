import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { LOG_TABLE, type Column } from '@standin/contract';
import { describe, expect, test } from 'vitest';
import { expandMacros, loadMigrations } from './migrations.ts';

/** The existing migrations, with the beginning of the digest of their statements for a cluster. */
const EXISTING: readonly string[] = [
  '001_log 5258e6c975a22ef1',
  '002_log_distributed 354de3b9f71a6a48',
  '003_log_search 870b834fd1756b7c',
  '004_replay_results 7e69e3aff0ed6dde',
  '005_log_columns c73b114e2fac010b',
  '007_purged_permits dd20c743c2c14bf1',
  '008_replay_results_project 45e1f0da3d4fbf68',
  '009_log_columns bf647b8311087507',
  '011_log_delivery_index 764cb26f33b0fd62',
  '013_replay_results_in_time 9c42409c03caab14',
];

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

  // Servers have the tables that they created. Their columns are in LOG_TABLE and REPLAY_RESULTS_TABLE.
  test('existing migrations never change', async () => {
    const migrations = await loadMigrations({ database: 'standin', cluster: 'main' });
    const digests = migrations.slice(0, EXISTING.length).map(({ name, statements }) => {
      const text = statements.join(';').replace(/\s+/g, ' ');
      return `${name} ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
    });
    expect(digests).toEqual(EXISTING);
  });

  test('columns that are appended to the log are added to the table, and in a cluster to the one in front, too', async () => {
    const statements = async (cluster?: string): Promise<readonly string[] | undefined> =>
      (await loadMigrations({ database: 'standin', cluster })).find(({ number }) => number === 9)?.statements;
    const [local, distributed, ...more] = (await statements('main')) ?? [];
    expect(local?.replace(/\s+/g, ' ')).toBe(
      'ALTER TABLE standin.log_local ON CLUSTER main ADD COLUMN IF NOT EXISTS response LowCardinality(String), ADD COLUMN IF NOT EXISTS delay_us UInt64 CODEC(ZSTD(1)), ADD COLUMN IF NOT EXISTS template_error String CODEC(ZSTD(1))',
    );
    expect(distributed?.replace(/\s+/g, ' ')).toBe(
      'ALTER TABLE standin.log ON CLUSTER main ADD COLUMN IF NOT EXISTS response LowCardinality(String), ADD COLUMN IF NOT EXISTS delay_us UInt64, ADD COLUMN IF NOT EXISTS template_error String',
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
