import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { EngineAddress } from '@standin/engine';
import { openLogStore } from '@standin/logstore';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRunFile } from '../../cli/src/server/run-file.ts';
import { call, printLog, startDev, type DevRun } from '../e2e/dev-stand.ts';
import { eventually } from '../harness/eventually.ts';

/** Torture test 41: the ClickHouse of `standin dev`, attacked by a local user without and with its password. */

const MARKER = 'never-to-be-seen';
let run: DevRun;
let clickhouse: EngineAddress;
/** A folder with a file that does not belong to the engine and must stay unchanged. */
let outside: string;

beforeAll(async () => {
  run = await startDev();
  clickhouse = await readLogin(run.data);
  outside = path.join(run.data, '..', 'outside');
  await mkdir(outside);
  await writeFile(path.join(outside, 'secret'), `${MARKER}\n`);
  for (const sql of ['CREATE DATABASE d', 'CREATE TABLE d.t (a String) ENGINE = MergeTree ORDER BY a']) {
    expect(await ask(sql)).toMatchObject({ status: 200 });
  }
});
afterAll(async () => {
  await run.process.kill();
});

const readLogin = async (data: string): Promise<EngineAddress> => {
  const running = await readRunFile(data);
  if (running === undefined) throw new Error(`standin dev is not running for ${data}`);
  return running.clickhouse;
};

interface AskOptions {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  /** URL parameters besides the query. */
  readonly search?: Readonly<Record<string, string>>;
  /** The rows of an insert. If they are set, the statement is in the URL. */
  readonly body?: string;
}

const login = () => ({ 'x-clickhouse-user': clickhouse.username, 'x-clickhouse-key': clickhouse.password });

/** Sends a statement to the engine, by default with its password. */
const ask = async (sql: string, { method = 'POST', headers = login(), search = {}, body }: AskOptions = {}) => {
  const url = new URL(clickhouse.url);
  for (const [name, value] of Object.entries(search)) url.searchParams.set(name, value);
  const isInUrl = method === 'GET' || body !== undefined;
  if (isInUrl) url.searchParams.set('query', sql);
  const response = await fetch(url, { method, headers, ...(method === 'POST' && { body: isInUrl ? body : sql }) });
  return {
    status: response.status,
    code: response.headers.get('x-clickhouse-exception-code'),
    text: await response.text(),
  };
};

/** Replaces the placeholders `SECRET` and `OUT` of the statements below. */
const inPlace = (sql: string): string =>
  sql.replaceAll('SECRET', `${outside}/secret`).replaceAll('OUT', `${outside}/out`);

const expectUntouched = async (): Promise<void> => {
  expect(await readdir(outside)).toEqual(['secret']);
  expect(await readFile(path.join(outside, 'secret'), 'utf8')).toBe(`${MARKER}\n`);
};

const REFUSED = ['497', '62', '452', '164', '48'];

const expectRejected = async (sql: string, options?: AskOptions): Promise<void> => {
  const answer = await ask(inPlace(sql), options);
  expect(answer.text).not.toContain(MARKER);
  expect(REFUSED, `${answer.status} ${answer.text}`).toContain(answer.code);
  expect(answer.status).toBeGreaterThanOrEqual(400);
  await expectUntouched();
};

describe('without the password', () => {
  test.for([
    ['no login', {}],
    ['another user', { 'x-clickhouse-user': 'standin' }],
    ['a guess', { 'x-clickhouse-user': 'default', 'x-clickhouse-key': 'default' }],
    ['a guess as Basic', { authorization: `Basic ${Buffer.from('default:').toString('base64')}` }],
  ] as const)('%s gets no access', async ([, headers]) => {
    for (const method of ['GET', 'POST'] as const) {
      expect(await ask('SELECT 1', { method, headers })).toMatchObject({ status: 403, code: '516' });
    }
  });

  test('the password of an earlier run gets no access', async () => {
    const first = await startDev();
    const { password } = await readLogin(first.data);
    await first.process.kill('SIGKILL');
    const { manifests, data } = first;
    // The files of the killed run remain, and affect neither `standin logs` nor the next run.
    expect(await printLog(data)).toEqual([]);
    const second = await startDev({ folders: { manifests, data } });
    const address = await readLogin(data);
    expect(address.password).not.toBe(password);
    const stale = openLogStore({ ...address, password, database: 'standin' });
    await expect(stale.ping()).rejects.toThrow();
    await stale.close();
    expect(await call(second, '/v1/orders')).toMatchObject({ status: 201 });
    await eventually('the request in the log', () => printLog(data), { accept: (rows) => rows.length === 1 });
    await second.process.kill();
    expect(await readRunFile(data)).toBeUndefined();
    expect(await printLog(data)).toHaveLength(1);
  });
});

describe('the password', () => {
  test('is not in the arguments or the environment of a process', async () => {
    const tree = await processTree(run.process.pid);
    expect(tree.length).toBeGreaterThanOrEqual(2);
    for (const pid of tree) {
      for (const file of ['cmdline', 'environ']) {
        expect(await readFile(`/proc/${pid}/${file}`, 'utf8'), `${pid} ${file}`).not.toContain(clickhouse.password);
      }
    }
  });

  test('is readable only by its owner, and git ignores the folder', async () => {
    const fileMode = async (...parts: string[]) =>
      ((await stat(path.join(run.data, ...parts))).mode & 0o777).toString(8);
    expect([await fileMode(), await fileMode('running.json')]).toEqual(['700', '600']);
    expect([await fileMode('clickhouse'), await fileMode('clickhouse', 'config', 'users.xml')]).toEqual(['700', '600']);
    expect(await fileMode('operator')).toBe('700');
    expect(await readFile(path.join(run.data, '.gitignore'), 'utf8')).toBe('*\n');
  });
});

/** Returns the ids of the process and all its descendants. */
const processTree = async (root: number): Promise<readonly number[]> => {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    const text = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : '';
    const [, parent] = /\) \S (\d+)/.exec(text) ?? [];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const tree = new Set([root]);
  let size = 0;
  while (size !== tree.size) {
    size = tree.size;
    for (const [pid, parent] of parents) if (tree.has(parent)) tree.add(pid);
  }
  return [...tree];
};

describe('with the password', () => {
  test.for([
    "SELECT * FROM file('SECRET', 'LineAsString')",
    "SELECT * FROM FiLe/* x */\n('SECRET', 'LineAsString')",
    "SELECT * FROM `file`('SECRET', 'LineAsString')",
    'SELECT * FROM "file" -- x\n(\'SECRET\', LineAsString)',
    "SELECT * FROM `fi\\x6ce`('SECRET', 'LineAsString')",
    "SELECT `fi\\x6ce`('SECRET')",
    "SELECT * FROM 'SECRET'",
    "SELECT file('SECRET')",
    "SELECT arrayMap(file, ['SECRET'])",
    "SELECT * APPLY(file) FROM (SELECT 'SECRET' AS a)",
    "SELECT * APPLY file FROM (SELECT 'SECRET' AS a)",
    "file('SECRET')",
    "SELECT 1e--file('SECRET')",
    "SELECT $$x$$, file('SECRET')",
    "SELECT ‘x’, file('SECRET')",
    "SELECT 1 // '\n, file('SECRET') // '",
    "SELECT 1 # '\n, file('SECRET') # '",
    "SELECT 1 /* /* */ ' */, file('SECRET') -- '",
    "SELECT x'41\\', file('SECRET'), '",
    "SELECT (SELECT count() FROM (SELECT * FROM url('file://SECRET', LineAsString)))",
    "WITH a AS (SELECT * FROM file('SECRET', LineAsString)) SELECT * FROM a",
    "SELECT * FROM eval('SELECT file(''SECRET'')') SETTINGS allow_experimental_eval_table_function = 1",
    "SELECT * FROM format('Values', 'x String', '(file(''SECRET''))')",
    "SELECT * FROM format(JSONEachRow, 'a Int8, x String DEFAULT file(''SECRET'')', '{\"a\": 1}')",
    "SELECT x FROM values('a String, x String ALIAS file(''SECRET'')', ('q'))",
    "SELECT x FROM generateRandom('a String, x String ALIAS file(''SECRET'')') LIMIT 1",
    "SELECT structureToProtobufSchema('x UInt8 DEFAULT file(''SECRET'')')",
    "SELECT structureToCapnProtoSchema('x UInt8 DEFAULT toUInt8(file(''SECRET''))')",
    "SELECT * FROM viewExplain('', '', (SELECT file('SECRET')))",
    "DESCRIBE TABLE file('SECRET')",
    "EXPLAIN SELECT file('SECRET')",
    "EXPLAIN TABLE OVERRIDE mysql('127.0.0.1:1', 'd', 't', 'u', 'p') COLUMNS (a String)",
    "SELECT 1 SETTINGS format_template_resultset = 'SECRET' FORMAT Template",
    "SELECT 1 SETTINGS additional_result_filter = 'file(''SECRET'') != '''''",
    "SELECT 1 SETTINGS dialect = 'kusto'",
    "SELECT * FROM format(CSV, 'x UInt8', 'abc') SETTINGS input_format_record_errors_file_path = 'OUT', input_format_allow_errors_num = 9",
    "SELECT 1 INTO OUTFILE 'OUT'",
    "SELECT 1 INTO/**/outfile 'OUT' TRUNCATE",
    "EXPLAIN SELECT 1 INTO OUTFILE 'OUT'",
    "SHOW TABLES FROM d INTO OUTFILE 'OUT'",
    "SELECT 1; SELECT 1 INTO OUTFILE 'OUT'",
    "SELECT 1\\G SELECT 1 INTO OUTFILE 'OUT'",
    "INSERT INTO FUNCTION file('OUT', 'TSV', 'a String') VALUES ('x')",
    "INSERT INTO TABLE FUNCTION file('OUT', 'TSV', 'a String') SELECT 'x'",
    "WITH 1 AS x INSERT INTO FUNCTION file('OUT', 'TSV', 'a Int8') SELECT x",
    "INSERT INTO d.t FROM INFILE 'SECRET' FORMAT LineAsString",
    "INSERT INTO d.t VALUES (file('SECRET'))",
    "INSERT INTO d.t FORMAT Values (file('SECRET'))",
    "INSERT INTO d.t SELECT * FROM input('a String') FORMAT LineAsString\nit's\n\nSELECT 1 INTO OUTFILE 'OUT' --'",
    "INSERT INTO d.t SETTINGS values = 1 FORMAT LineAsString\nit's\n\nSELECT 1 INTO OUTFILE 'OUT' --'",
    "CREATE TABLE d.f (a String) ENGINE = File(TSV, 'OUT')",
    "CREATE TABLE d.f (a String) ENGINE/**/`File`(TSV, 'OUT')",
    'CREATE TEMPORARY TABLE f (a String) ENGINE = File(TSV)',
    "CREATE TABLE d.f AS file('SECRET', LineAsString)",
    "CREATE TABLE d.f (a String, b String MATERIALIZED file('SECRET')) ENGINE = Memory",
    "CREATE TABLE d.f (a String, b String ALIAS file('SECRET')) ENGINE = Memory",
    "CREATE TABLE d.f (a Int8) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = 'OUT/')",
    "CREATE TABLE d.f (a String) ENGINE = EmbeddedRocksDB(0, 'OUT') PRIMARY KEY a",
    "CREATE TABLE d.f (a String) ENGINE = Executable('id', TSV)",
    "CREATE TABLE d.f (a String) ENGINE = MySQL('127.0.0.1:1', 'd', 't', 'u', 'p')",
    "CREATE TABLE d.f (a String) ENGINE = Distributed('c', 'd', 't')",
    "CREATE VIEW d.v AS SELECT * FROM file('SECRET', LineAsString)",
    "CREATE MATERIALIZED VIEW d.v ENGINE = URL('http://127.0.0.1:1/', TSV) AS SELECT a FROM d.t",
    "CREATE DATABASE f ENGINE = Filesystem('/')",
    "CREATE DICTIONARY d.x (a String) PRIMARY KEY a SOURCE(FILE(path 'SECRET' format LineAsString)) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)",
    "CREATE DICTIONARY d.x (a String) PRIMARY KEY a SOURCE(EXECUTABLE(command 'touch OUT' format TSV)) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)",
    "CREATE FUNCTION x AS a -> file('SECRET')",
    "CREATE NAMED COLLECTION n AS url = 'http://127.0.0.1:1/'",
    "ALTER TABLE d.t ADD COLUMN b String DEFAULT file('SECRET')",
    "ALTER TABLE d.t UPDATE a = file('SECRET') WHERE 1",
    "ATTACH TABLE d.f FROM 'OUT' (a String) ENGINE = MergeTree ORDER BY a",
    "BACKUP TABLE d.t TO File('OUT')",
    "BACKUP DATABASE d TO Disk('default', 'out')",
    "RESTORE TABLE d.t FROM File('OUT')",
    'SYSTEM SHUTDOWN',
    'SET readonly = 0',
    'GRANT ALL ON *.* TO default',
    'CREATE USER u',
    "SELECT * FROM executable('id', 'TSV', 'a String')",
    "SELECT * FROM remote('127.0.0.1:1', system.one)",
    "SELECT * FROM s3('http://127.0.0.1:1/bucket/key', LineAsString)",
    "SELECT * FROM cluster('default', system.one)",
  ])('rejects %s', async (sql) => {
    await expectRejected(sql);
    if (/^(SELECT|DESCRIBE|EXPLAIN|INSERT)/.test(sql)) await expectRejected(sql, { method: 'GET' });
  });

  test.for([
    ['a write by GET', "INSERT INTO d.t VALUES ('x')", { method: 'GET' }],
    ['a write by GET with its own readonly', 'DROP TABLE d.t', { method: 'GET', search: { readonly: '0' } }],
    ['a setting in the URL', 'SELECT 1 FORMAT Template', { search: { format_template_resultset: 'SECRET' } }],
    ['a different dialect in the URL', 'print 1', { search: { dialect: 'kusto' } }],
    ['a name from a parameter', 'SELECT {f:Identifier}(1)', { search: { param_f: 'file' } }],
    ['an expression in the body of an insert', 'INSERT INTO d.t FORMAT Values', { body: "(file('SECRET'))" }],
    ['a second statement in the body', 'INSERT INTO d.t VALUES', { body: "('x'); SELECT 1 INTO OUTFILE 'OUT'" }],
  ] as const)('rejects %s', async ([, sql, options]) => {
    const search = Object.entries('search' in options ? options.search : {});
    await expectRejected(sql, {
      ...options,
      search: Object.fromEntries(search.map(([name, value]) => [name, inPlace(value)])),
      ...('body' in options && { body: inPlace(options.body) }),
    });
  });

  test('treats any text in an insert as data', async () => {
    const lines = ["it's", '', "SELECT 1 INTO OUTFILE 'OUT'", '; DROP TABLE d.t', "file('SECRET')"].map(inPlace);
    const sql = 'INSERT INTO d.t FORMAT LineAsString';
    expect(await ask(`${sql}\n${lines.join('\n')}\n`)).toMatchObject({ status: 200 });
    expect(await ask(sql, { body: `${lines.join('\n')}\n` })).toMatchObject({ status: 200 });
    const { text } = await ask('SELECT DISTINCT a FROM d.t ORDER BY a FORMAT TSVRaw');
    expect(text.split('\n').slice(0, -1)).toEqual(lines.toSorted());
    await expectUntouched();
  });

  // ClickHouse's client executes lines of a comment as statements if the comment follows a semicolon.
  test.for([
    ['after a statement', 'SELECT 1; /*\nHIDDEN --*/', {}],
    ['after an insert', "INSERT INTO d.t VALUES ('x'); /*\nHIDDEN --*/", {}],
    ['before a statement, in a database from the URL', '/*\nHIDDEN --*/ SELECT 1', { search: { database: 'd' } }],
    ['before a GET', '/*\nHIDDEN --*/ SELECT 1', { method: 'GET' }],
    ['before an insert', "/*\nHIDDEN --*/ INSERT INTO d.t FORMAT CSV\n'x'", { search: { database: 'd' } }],
  ] as const)('executes no statement in a comment %s', async ([, sql, options]) => {
    for (const hidden of ["SELECT file('SECRET')", "SELECT 'x' INTO OUTFILE 'OUT'"]) {
      const { text, status } = await ask(inPlace(sql.replace('HIDDEN', hidden)), options);
      expect({ text, status }).toEqual({ text: sql.includes('INSERT') ? '' : '1\n', status: 200 });
      await expectUntouched();
    }
  });
});
