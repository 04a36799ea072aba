import { describe, expect, test } from 'vitest';
import { checkStatement } from './check-statement.ts';

const rules = {
  tableFunctions: new Set([
    'file',
    'url',
    's3',
    'remote',
    'mysql',
    'executable',
    'cluster',
    'numbers',
    'format',
    'values',
    'input',
  ]),
  hasClusters: false,
};
const check = (sql: string) => checkStatement(sql, rules);

describe('a statement that only reads', () => {
  test.for([
    'SELECT 1;',
    '(SELECT 1) UNION ALL (SELECT 2)',
    'WITH 1 AS x SELECT x',
    'WITH a AS (SELECT 1) SELECT * FROM a',
    'SHOW CREATE TABLE log',
    'DESCRIBE TABLE log',
    'EXISTS TABLE log',
    'EXPLAIN SELECT 1',
    'explain PIPELINE graph = 1, compact = 0 WITH 1 AS x SELECT x',
    'SELECT * FROM numbers(3) -- FROM file(1)',
    "SELECT 'INTO OUTFILE' AS `OUTFILE`, \"INFILE\", 'file(''/etc/passwd'')'",
    'SELECT engine FROM system.tables',
    'SELECT url, t.s3 FROM log WHERE remote IN (1)',
  ])('can be %s', (sql) => {
    expect(check(sql)).toMatchObject({ isRead: true });
  });
});

describe('a statement that writes inside the engine', () => {
  test.for([
    'CREATE DATABASE IF NOT EXISTS standin',
    'CREATE OR REPLACE TABLE t (a String) ENGINE = ReplacingMergeTree(a) ORDER BY a',
    'CREATE TEMPORARY TABLE t (engine String) ENGINE Memory',
    'CREATE MATERIALIZED VIEW v ENGINE=MergeTree ORDER BY a AS SELECT a FROM t',
    'ALTER TABLE t ADD COLUMN b String',
    'DROP TABLE t',
    'DROP VIEW v',
    'TRUNCATE TABLE t',
    'OPTIMIZE TABLE t FINAL',
    'RENAME TABLE a TO b',
    'DELETE FROM t WHERE 1',
    "INSERT INTO t (a, values) VALUES ('SETTINGS x FORMAT CSV')",
    "INSERT INTO t\nVALUES ('a', NULL),\n  (upper('b'), [1, 2]) ;",
    'INSERT INTO t WITH 1 AS x SELECT x FORMAT Null;',
    'INSERT INTO t SELECT a AS format, b FROM u',
  ])('can be %s', (sql) => {
    expect(check(sql)).toMatchObject({ isRead: false });
  });
});

// Comments around a statement are removed, because ClickHouse's client reads the lines of a comment after a semicolon as statements.
test.for([
  ['/*\nDROP TABLE t --*/ SELECT 1', 'SELECT 1'],
  ['SELECT 1; /*\nDROP TABLE t --*/', 'SELECT 1'],
  ['SELECT /* a */ 1 -- b\n;', 'SELECT /* a */ 1'],
  ["-- x\nINSERT INTO t VALUES ('1'); -- y", "INSERT INTO t VALUES ('1')"],
  ["/* x */ INSERT INTO t FORMAT CSV\n'1'; /*", 'INSERT INTO t FORMAT CSV'],
] as const)('the statement in %j is %j', ([sql, text]) => {
  expect(check(sql).text).toBe(text);
});

describe('an insert followed by its data', () => {
  const insertParts = (sql: string): string[] | undefined => {
    const { insert } = check(sql);
    return insert && [sql.slice(0, insert.fileAt), sql.slice(insert.fileAt, insert.end), sql.slice(insert.end)];
  };

  test.for([
    ['INSERT INTO log (a, b) FORMAT RowBinary', 'INSERT INTO log (a, b) ', 'FORMAT RowBinary', ''],
    ['insert into log format JSONEachRow ;', 'insert into log ', 'format JSONEachRow', ' ;'],
    ['INSERT INTO t SETTINGS x = 1 FORMAT CSV', 'INSERT INTO t ', 'SETTINGS x = 1 FORMAT CSV', ''],
    ["INSERT INTO t FORMAT `CSV`\nit's; x", 'INSERT INTO t ', 'FORMAT `CSV`', "\nit's; x"],
    ["INSERT INTO t/* SETTINGS ' */ FORMAT CSV", "INSERT INTO t/* SETTINGS ' */ ", 'FORMAT CSV', ''],
    ['INSERT INTO s.values FORMAT CSV', 'INSERT INTO s.values ', 'FORMAT CSV', ''],
  ] as const)('is divided into its parts: %j', ([sql, ...parts]) => {
    expect(insertParts(sql)).toEqual(parts);
  });

  test.for([
    ['its data in the text of a SELECT', "INSERT INTO t SELECT 1 FORMAT CSV\nit's\n\nSELECT 1 INTO OUTFILE '/x' --'"],
    ['a word that looks like VALUES', "INSERT INTO t SETTINGS values = 1 FORMAT CSV\nit's\n\n INTO OUTFILE '"],
    ['a format for expressions', 'INSERT INTO t FORMAT Values (1)'],
    ['a format that is a parameter', 'INSERT INTO t FORMAT {f:Identifier}'],
    ['WITH before it', 'WITH 1 AS x INSERT INTO t FORMAT CSV'],
    ['a subquery before it', 'WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a'],
  ])('is refused with %s', ([, sql]) => {
    expect(() => check(sql ?? '')).toThrow(/^Code: (62|497)\. /);
  });
});

describe('checkStatement', () => {
  test.for([
    "SELECT * FROM file('/etc/passwd')",
    "SELECT * FROM FILE/**/('/etc/passwd')",
    "SELECT * FROM `file` -- x\n ('/etc/passwd')",
    'SELECT * FROM "url"(1)',
    "SELECT file('/etc/passwd')",
    "SELECT arrayMap(file, ['/etc/passwd'])",
    "SELECT * APPLY(file) FROM (SELECT '/etc/passwd')",
    "SELECT * APPLY file FROM (SELECT '/etc/passwd')",
    "SELECT 1 WHERE 1 IN (SELECT (SELECT count() FROM (SELECT * FROM s3('x'))))",
    "WITH a AS (SELECT * FROM remote('h', s.t)) SELECT * FROM a",
    "INSERT INTO FUNCTION file('/tmp/x') SELECT 1",
    "INSERT INTO TABLE FUNCTION url('http://x') VALUES (1)",
    "INSERT INTO t SELECT * FROM input('a String') FORMAT CSV",
    "INSERT INTO t VALUES (file('/etc/passwd'))",
    "DESCRIBE TABLE file('/etc/passwd')",
    "EXPLAIN SELECT file('/etc/passwd')",
    "CREATE VIEW v AS SELECT * FROM file('/etc/passwd')",
    "CREATE TABLE t (a String MATERIALIZED file('/etc/passwd')) ENGINE = Memory",
    "CREATE TABLE t AS file('/etc/passwd')",
    'CREATE TABLE t (a String) ENGINE = File(TSV)',
    'CREATE TABLE t (a String) ENGINE File',
    'CREATE TABLE t (a String) ENGINE = `URL`(1)',
    "CREATE MATERIALIZED VIEW v (a String) ENGINE = S3('x') AS SELECT 1",
    "CREATE DATABASE d ENGINE = Filesystem('/etc')",
    'CREATE TABLE t (a String) ENGINE = Distributed(c, d, t)',
    "SELECT * FROM cluster('c', d.t)",
    "CREATE TABLE t (a Int8) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = '/tmp')",
    "CREATE DICTIONARY d (a String) PRIMARY KEY a SOURCE(EXECUTABLE(command 'id'))",
    "CREATE FUNCTION f AS 'id'",
    'CREATE NAMED COLLECTION n AS a = 1',
    'CREATE USER u',
    "SELECT 1 INTO/**/outfile '/tmp/x'",
    "INSERT INTO t FROM INFILE '/etc/passwd' FORMAT CSV",
    "BACKUP TABLE t TO File('/tmp/x')",
    "RESTORE TABLE t FROM Disk('x', 'y')",
    "ATTACH TABLE t FROM '/etc' (a Int8) ENGINE = Log",
    'SYSTEM SHUTDOWN',
    'SET readonly = 0',
    'GRANT ALL ON *.* TO default',
    'KILL QUERY WHERE 1',
    'ALTER USER default',
    'EXPLAIN INSERT INTO t SELECT 1',
    "EXPLAIN TABLE OVERRIDE mysql('h')",
    "SELECT aiGenerate('x', 'y')",
    "SELECT x FROM values('a String, x String ALIAS file(''/etc/passwd'')', ('q'))",
    "SELECT * FROM VALUES/**/('x String', 'q')",
    "INSERT INTO t SELECT x FROM values('x String', 'q')",
    "INSERT INTO t FROM values('x String', 'q') SELECT x",
    "SELECT structureToProtobufSchema('x UInt8 DEFAULT file(''/etc/passwd'')')",
    "SELECT * APPLY structureToCapnProtoSchema FROM (SELECT 'x UInt8 DEFAULT file(''/etc/passwd'')')",
    "INSERT INTO t VALUES ((SELECT x FROM values('x String', 'q')))",
    "INSERT INTO t VALUES ((SELECT x FROM format(Values, 'x String', '(1)')))",
    "SELECT * FROM format('Values', 'x String', '(file(''/etc/passwd''))')",
    "SELECT * FROM generateRandom('x String ALIAS file(''/etc/passwd'')')",
    "SELECT * FROM `null`('x String ALIAS file(''/etc/passwd'')')",
    'INSERT INTO t VALUES (1) /*\nSELECT 1 */, (2)',
    "INSERT INTO t VALUES /* ' */ (1), ('x')",
    'INSERT INTO t VALUES (["\'"])',
    "INSERT INTO t VALUES (`'`)",
  ])('refuses %s', (sql) => {
    expect(() => check(sql)).toThrow(/^Code: 497\. DB::Exception: .* \(ACCESS_DENIED\)$/);
  });

  test.for(['SELECT 1; SELECT 2', 'SELECT 1;;', 'DROP TABLE t PARALLEL WITH DROP TABLE u', 'SELEC 1', '1 + 1', ''])(
    'does not accept %j as one statement',
    (sql) => {
      expect(() => check(sql)).toThrow(/^Code: 62\. /);
    },
  );

  test('allows the servers in a configuration file, but only through cluster functions and Distributed tables', () => {
    const clusters = { ...rules, hasClusters: true };
    expect(checkStatement("SELECT * FROM cluster('c', d.t)", clusters)).toMatchObject({ isRead: true });
    expect(checkStatement('CREATE TABLE t AS u ENGINE = Distributed(c, d, u)', clusters)).toMatchObject({
      isRead: false,
    });
    expect(() => checkStatement("SELECT * FROM remote('h', d.t)", clusters)).toThrow('remote() is not allowed');
  });
});
