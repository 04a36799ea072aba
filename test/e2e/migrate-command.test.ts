import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { clickHouseQuery } from '../harness/clickhouse-query.ts';
import { standin } from './dev-stand.ts';

const start = async (): Promise<TestClickHouse> => {
  const clickHouse = await startClickHouse();
  onTestFinished(() => clickHouse.stop());
  return clickHouse;
};

const clickHouseOptions = ({ url, username, password, database }: TestClickHouse): string[] => [
  ...['--clickhouse-url', url, '--clickhouse-user', username, '--clickhouse-password', password],
  ...['--database', database],
];

/** Returns the CREATE statement of every table in the database, and the applied migrations. */
const schemaText = async (clickHouse: TestClickHouse): Promise<string> => {
  const query = clickHouseQuery(clickHouse);
  const where = `database = '${clickHouse.database}'`;
  const tables = await query(`SELECT name, create_table_query FROM system.tables WHERE ${where} ORDER BY name`);
  const migrations = await query('SELECT DISTINCT number, name FROM migrations ORDER BY number');
  return `${tables}\n${migrations}`;
};

describe('standin admin migrate', () => {
  test('creates the tables and does nothing when it runs again', async () => {
    const clickHouse = await start();
    const upToDate = { code: 0, stdout: `The tables in database ${clickHouse.database} are up to date.\n` };
    const first = await standin(['admin', 'migrate', ...clickHouseOptions(clickHouse)]);
    expect(first).toMatchObject(upToDate);
    expect(first.stderr).toContain('001_log');
    const schema = await schemaText(clickHouse);
    expect(schema).toContain('replay_results');
    expect(await standin(['admin', 'migrate', ...clickHouseOptions(clickHouse)])).toMatchObject({
      ...upToDate,
      stderr: '',
    });
    expect(await schemaText(clickHouse)).toBe(schema);
  });

  test('prints repeatable statements that create the same tables', async () => {
    const [byCommand, byHand] = [await start(), await start()];
    await standin(['admin', 'migrate', ...clickHouseOptions(byCommand)]);
    // With --print, the command does not connect to a server.
    const { code, stdout } = await standin(['admin', 'migrate', '--print', '--database', byHand.database]);
    expect(code).toBe(0);
    const statements = stdout.split(/;\n/).map((statement) => statement.trim());
    for (let round = 0; round < 2; round++) {
      let database = 'default';
      for (const sql of statements.filter((statement) => statement !== '')) {
        // Over HTTP, a USE statement has no effect on the next statement.
        const use = /^USE (\w+)$/.exec(sql)?.[1];
        if (use === undefined) await clickHouseQuery({ ...byHand, database })(sql);
        else database = use;
      }
    }
    expect(await schemaText(byHand)).toBe(await schemaText(byCommand));
  });

  // The engine has no users, so the test cannot try the grants.
  test('creates the tables in the grants of docs/guides/install.md, which ClickHouse can parse', async () => {
    const clickHouse = await start();
    const query = clickHouseQuery(clickHouse);
    await standin(['admin', 'migrate', ...clickHouseOptions(clickHouse)]);
    const text = readFileSync(path.join(import.meta.dirname, '../../docs/guides/install.md'), 'utf8');
    const block = /```sql\n(.*?)```/s.exec(text)?.[1] ?? '';
    const grants = block
      .replace(/^--.*$/gm, '')
      .split(';')
      .map((grant) => grant.trim())
      .filter((grant) => grant !== '');
    expect(grants.length).toBeGreaterThan(5);
    for (const grant of grants) {
      expect(await query(`SELECT formatQuerySingleLine('${grant}')`)).toBe(grant);
      const [, database = '', table = ''] = / ON (\w+)\.(\w+|\*) TO /.exec(grant) ?? [];
      if (table !== '*') expect(await query(`EXISTS TABLE ${database}.${table}`), grant).toBe('1');
    }
  });

  test('reports a missing option or an unreachable server in one line', async () => {
    const { code, stderr } = await standin(['admin', 'migrate']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'standin: pass --clickhouse-url, or --print to see the statements\n',
    });
    const unreachable = await standin(['admin', 'migrate', '--clickhouse-url', 'http://127.0.0.1:1']);
    expect({ code: unreachable.code, lines: unreachable.stderr.trim().split('\n') }).toEqual({
      code: 1,
      lines: [expect.stringContaining('ECONNREFUSED')],
    });
  });
});
