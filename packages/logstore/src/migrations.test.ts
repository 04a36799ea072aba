import { describe, expect, test } from 'vitest';
import { LOG_COLUMNS } from './columns.ts';
import { expandMacros, loadMigrations } from './migrations.ts';

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

  test.each([{}, { cluster: 'main' }])('numbers increase by one and statements can be repeated: %j', async (target) => {
    const migrations = await loadMigrations({ database: 'standin', ...target });
    const numbers = (await loadMigrations({ database: 'standin', cluster: 'main' })).map(({ number }) => number);
    expect(numbers).toEqual(numbers.map((_number, index) => index + 1));
    for (const statement of migrations.flatMap(({ statements }) => statements)) {
      expect(statement).toMatch(/IF (NOT )?EXISTS/);
    }
  });

  test('every column of a row is in the table', async () => {
    const migrations = await loadMigrations({ database: 'standin' });
    const sql = migrations.flatMap(({ statements }) => statements).join('\n');
    for (const column of LOG_COLUMNS) {
      expect(sql).toMatch(new RegExp(`^ +(ADD COLUMN IF NOT EXISTS )?${column} +[A-Z]`, 'm'));
    }
  });

  test.each(['', 'a-b', 'a b', 'a;b', '1a', "a'b"])('rejects the name %j', async (name) => {
    await expect(loadMigrations({ database: name })).rejects.toThrow('must be up to 63 letters');
    await expect(loadMigrations({ database: 'standin', cluster: name })).rejects.toThrow('must be up to 63 letters');
  });
});

test('an unknown macro is an error', () => {
  expect(() => expandMacros('CREATE @tabel@', { table: 'x' })).toThrow('@tabel@');
});
