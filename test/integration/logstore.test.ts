import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { formatTime, LOG_TABLE, type LogRow, type Table } from '@standin/contract';
import { bodyAsBuffer, type LogEntry } from '@standin/exchange';
import { parseFilter, type Filter } from '@standin/exchange/search';
import { EVERY_PROJECT, encodeRow, LOG_COLUMNS, openLogStore, tailLog, type LogStore } from '@standin/logstore';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anyLogRow, newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { anyFilter } from '../../packages/exchange/src/search/filter.testing.ts';
import { loadMigrations } from '../../packages/logstore/src/migrations.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { clickHouseQuery, type Query } from '../harness/clickhouse-query.ts';

let clickHouse: TestClickHouse;
let query: Query;
let store: LogStore;

beforeAll(async () => {
  clickHouse = await startClickHouse();
  query = clickHouseQuery(clickHouse);
  store = openLogStore(clickHouse);
  await store.migrate();
});

afterAll(async () => {
  await store.close();
  await clickHouse.stop();
});

/** Returns the table that contains the rows. In a cluster, `log` is a Distributed table over it. */
const logTableName = ({ cluster }: TestClickHouse): string => (cluster === undefined ? 'log' : 'log_local');

let batches = 0;
const insert = (rows: readonly LogRow[], token = `batch-${batches++}`): Promise<void> =>
  store.insert({ rows: Buffer.concat(rows.map(encodeRow)), rowCount: rows.length, token });

/** The number of projects so far. Each test has its own project. */
let projects = 0;
const newProject = (): Partial<LogRow> => ({ projectUid: `project-${projects++}` });

const byteValues = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

describe('an entry', () => {
  test('keeps the bytes of bodies, headers, trailers and the target', async () => {
    const row = newLogRow({
      ...newProject(),
      target: '/k/caf\xe9%00?\xff',
      path: '/caf\xe9%00',
      query: '\xff',
      requestHeaders: [
        ['Set-Cookie', 'b=2'],
        ['set-cookie', 'a=1'],
        ['X-Latin', byteValues.toString('latin1')],
        ['empty', ''],
      ],
      requestTrailers: [['x-checksum', '\x80']],
      requestBody: byteValues,
      responseHeaders: [
        ['vary', 'a'],
        ['vary', 'b'],
      ],
      responseTrailers: [['grpc-status', '0']],
      responseBody: Buffer.from('eda080fffe00', 'hex'),
      responseBodyBytes: 2 ** 40,
      responseTruncated: true,
      upstreamError: 'connect ECONNREFUSED — “naïve”',
      response: 'gold',
      delayUs: 1_500,
      templateError: '“x” is not a number',
    });
    await insert([row]);

    const entry = await store.get(row.id);
    expect(entry).toMatchObject({
      path: row.path,
      query: row.query,
      request: {
        target: row.target,
        headers: row.requestHeaders,
        trailers: row.requestTrailers,
        bodyEncoding: 'base64',
      },
      response: { headers: row.responseHeaders, trailers: row.responseTrailers, truncated: true, bodyBytes: 2 ** 40 },
      upstreamError: row.upstreamError,
      responseName: 'gold',
      delayMs: 1.5,
      templateError: row.templateError,
    });
    expect(bodyAsBuffer((entry as LogEntry).request)).toEqual(byteValues);
    expect(bodyAsBuffer((entry as LogEntry).response)).toEqual(row.responseBody);
  });

  test('keeps bodies of 10 MiB in both directions', async () => {
    const body = Buffer.alloc(10 * 1024 * 1024, byteValues);
    const row = newLogRow({ ...newProject(), requestBody: body, responseBody: body });
    await insert([row]);
    const entry = (await store.get(row.id)) as LogEntry;
    expect(bodyAsBuffer(entry.request).equals(body)).toBe(true);
    expect(bodyAsBuffer(entry.response).equals(body)).toBe(true);
  });

  test('keeps any valid row', async () => {
    const expiresAtS = Math.floor(Date.now() / 1000) + 1_000;
    const received = { min: Date.now() * 1000 - 1e9, max: Date.now() * 1000 };
    const anyRow = fc
      .tuple(anyLogRow, fc.integer(received))
      .map(([row, receivedAtUs]) => ({ ...row, receivedAtUs, expiresAtS }));
    const rows = fc.sample(anyRow, { numRuns: 100, seed: 42 });
    await insert(rows);
    for (const row of rows) {
      const entry = await store.get(row.id);
      expect(entry?.request.headers).toEqual(row.requestHeaders);
      expect(entry?.projectUid).toBe(row.projectUid);
      expect(entry && bodyAsBuffer(entry.request)).toEqual(row.requestBody);
    }
  });

  test('has headers by lowercase name and a column for the trace', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const row = newLogRow({
      ...newProject(),
      requestHeaders: [
        ['X-Event', 'push'],
        ['TraceParent', traceparent],
      ],
    });
    await insert([row]);
    const found = await query(
      `SELECT request_header_map['x-event'], traceparent FROM log WHERE id = '${row.id}' FORMAT TabSeparated`,
    );
    expect(found).toBe(`push\t${traceparent}`);
  });
});

test('a later version adds columns to a filled table, which gateways and readers of this version still use', async () => {
  const later: Table = { ...LOG_TABLE, clientPort: { format: 'uint16', since: 5 } };
  const database = `later_${clickHouse.database}`;
  const run = clickHouseQuery({ ...clickHouse, database });
  const older = openLogStore({ ...clickHouse, database });
  await older.migrate();
  const rows = [newLogRow(newProject()), newLogRow(newProject())];
  const insertRow = (row: LogRow): Promise<void> =>
    older.insert({ rows: encodeRow(row), rowCount: 1, token: row.id, columnCount: LOG_COLUMNS.length });
  await insertRow(rows[0] as LogRow);
  const migrations = await loadMigrations({ database, cluster: clickHouse.cluster }, later);
  for (const sql of migrations.find(({ number }) => number === 5)?.statements ?? []) await run(sql);
  await insertRow(rows[1] as LogRow);
  for (const { id } of rows) expect(await older.get(id)).toMatchObject({ id, credential: 'key' });
  expect(await run('SELECT client_port, count() FROM log GROUP BY client_port')).toBe('0\t2');
  await older.close();
});

describe('exactly once', () => {
  test('a batch that is sent again with the same token adds nothing', async () => {
    const row = newLogRow(newProject());
    for (let attempt = 0; attempt < 3; attempt++) await insert([row], `retried-${row.id}`);
    expect(await query(`SELECT count() FROM log WHERE id = '${row.id}'`)).toBe('1');
  });

  test('rows that arrive under two tokens are read once, before and after a merge', async () => {
    const rows = [newLogRow(newProject()), newLogRow(newProject())];
    await insert(rows);
    await insert(rows);
    await insert(rows.slice(1));
    const ids = rows.map(({ id }) => id);
    const read = async (): Promise<string[]> => {
      const entries = await Promise.all(rows.map(({ projectUid }) => store.list({ projectUid, limit: 10 })));
      return entries.flat().map(({ id }) => id);
    };
    expect(await read()).toEqual(ids);
    await query(`OPTIMIZE TABLE ${logTableName(clickHouse)} FINAL`);
    expect(await read()).toEqual(ids);
    expect(await query(`SELECT count() FROM log WHERE id IN ('${ids.join("','")}')`)).toBe('2');
  });

  test.each([
    ['after', [1, 2]],
    ['before', [2, 1]],
  ] as const)(
    'the complete exchange takes precedence if it is delivered %s the request alone',
    async (_when, versions) => {
      const whole = newLogRow({ ...newProject(), status: 502, outcome: 'upstream_failed' });
      const alone: LogRow = {
        ...whole,
        version: 1,
        status: 0,
        outcome: 'response_unknown',
        responseBody: Buffer.alloc(0),
      };
      for (const version of versions) await insert([version === 1 ? alone : whole]);

      const { projectUid } = whole;
      expect((await store.list({ projectUid, limit: 10 })).map(({ status }) => status)).toEqual([502]);
      expect((await store.get(whole.id))?.outcome).toBe('upstream_failed');
      expect(await store.list({ projectUid, status: 502, limit: 10 })).toHaveLength(1);
      expect(await store.list({ projectUid, status: 0, limit: 10 })).toEqual([]);
    },
  );

  test.each([
    ['first', [0, 1, 2]],
    ['last', [2, 1, 0]],
  ] as const)('a request in progress that is delivered %s is replaced by its end', async (_when, versions) => {
    const whole = newLogRow({ ...newProject(), status: 502, outcome: 'upstream_failed' });
    const { projectUid } = whole;
    const OUTCOMES = ['in_progress', 'response_unknown', 'upstream_failed'] as const;
    const known: number[] = [];
    for (const version of versions) {
      const nothing = version === 2 ? {} : { status: 0, responseBody: Buffer.alloc(0) };
      await insert([{ ...whole, ...nothing, version, outcome: OUTCOMES[version] }]);
      known.push(version);
      const outcome = OUTCOMES[Math.max(...known)];
      expect((await store.list({ projectUid, limit: 10 })).map((entry) => entry.outcome)).toEqual([outcome]);
      expect((await store.get(whole.id))?.outcome).toBe(outcome);
      const unanswered = outcome === 'upstream_failed' ? 0 : 1;
      expect(await store.count({ projectUid, status: 0 })).toBe(unanswered);
      expect(await store.list({ projectUid, status: 0, limit: 10 })).toHaveLength(unanswered);
    }
  });

  test('a request without a response is found by status 0', async () => {
    const alone = newLogRow({ ...newProject(), version: 1, status: 0, outcome: 'response_unknown' });
    await insert([alone]);
    const found = await store.list({ projectUid: alone.projectUid, status: 0, limit: 10 });
    expect(found.map(({ id }) => id)).toEqual([alone.id]);
  });

  test('returns a full page even if many rows were delivered more than once', async () => {
    const { projectUid } = newLogRow(newProject());
    const start = Date.now() * 1000;
    const rows = Array.from({ length: 60 }, (_, index) => newLogRow({ projectUid, receivedAtUs: start + index }));
    for (let copy = 0; copy < 3; copy++) await insert(rows);
    const listed = await store.summaries({ projectUid, limit: 50 });
    expect(listed.map(({ id }) => id)).toEqual(
      rows
        .toReversed()
        .slice(0, 50)
        .map(({ id }) => id),
    );
  });
});

describe('list', () => {
  const { projectUid } = newLogRow(newProject());
  const start = Date.UTC(2026, 10, 21, 7) * 1000;
  const rows = Array.from({ length: 10 }, (_, index) =>
    newLogRow({
      projectUid,
      namespace: index % 2 === 0 ? 'even' : 'odd',
      project: `p${index % 3}`,
      endpoint: index < 5 ? 'low' : 'high',
      method: index === 7 ? 'GET' : 'POST',
      status: 200 + index * 50,
      // Each pair of rows has the same microsecond.
      receivedAtUs: start + Math.floor(index / 2),
      expiresAtS: Math.floor(Date.now() / 1000) + 86_400,
    }),
  );
  const numbers = (entries: readonly { readonly id: string }[]): number[] =>
    entries.map(({ id }) => rows.findIndex((row) => row.id === id)).sort((a, b) => a - b);

  beforeAll(() => insert(rows));

  test.each([
    ['namespace', { namespace: 'even' }, [0, 2, 4, 6, 8]],
    ['project', { project: 'p1' }, [1, 4, 7]],
    ['endpoint', { endpoint: 'low' }, [0, 1, 2, 3, 4]],
    ['method', { method: 'GET' }, [7]],
    ['status', { status: 300 }, [2]],
    ['a range of statuses', { status: { min: 400, max: 499 } }, [4, 5]],
    ['several fields', { namespace: 'odd', endpoint: 'high', method: 'POST', status: { min: 500, max: 599 } }, []],
    ['until', { untilUs: start }, []],
    ['until, to a microsecond', { untilUs: start + 1 }, [0, 1]],
    ['since, to a microsecond', { sinceUs: start + 1 }, [2, 3, 4, 5, 6, 7, 8, 9]],
    ['since', { sinceUs: start }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    ['a value with a quote', { namespace: "o'd\\d\t" }, []],
  ] as const)('filters by %s', async (_what, filter, expected) => {
    expect(numbers(await store.list({ projectUid, ...filter, limit: 100 }))).toEqual(expected);
  });

  test.each(['newest-first', 'oldest-first'] as const)(
    'returns pages in %s order without gaps or duplicates',
    async (order) => {
      const pages: string[][] = [];
      for (let after: LogEntry | undefined; ;) {
        const page = await store.list({ projectUid, order, limit: 3, after });
        pages.push(page.map(({ id }) => id));
        after = page.at(-1);
        if (page.length < 3) break;
      }
      expect(pages.map((page) => page.length)).toEqual([3, 3, 3, 1]);
      const whole = await store.list({ projectUid, order, limit: 100 });
      expect(pages.flat()).toEqual(whole.map(({ id }) => id));
      const times = whole.map(({ receivedAt }) => receivedAt);
      expect(times).toEqual(order === 'oldest-first' ? times.toSorted() : times.toSorted().toReversed());
    },
  );

  test('omits an expired entry in lists and by id', async () => {
    const expired = newLogRow({ projectUid, expiresAtS: Math.floor(Date.now() / 1000) - 1 });
    await insert([expired]);
    expect(await store.get(expired.id)).toBeUndefined();
    expect(numbers(await store.list({ projectUid, limit: 100 }))).not.toContain(-1);
  });

  test('finds nothing for an unknown or invalid id', async () => {
    expect(await store.get(newLogRow().id)).toBeUndefined();
    expect(await store.get("x' OR 1=1")).toBeUndefined();
  });

  test('previews the beginning of long bodies up to a complete character, with their sizes', async () => {
    const row = newLogRow({
      requestBody: Buffer.from('€'.repeat(1000)),
      responseBody: Buffer.alloc(100, 0xff),
      responseBodyBytes: 5_000,
      responseTruncated: true,
    });
    await insert([row]);
    const { entry, ...sizes } = (await store.preview(row.id, 1000)) ?? {};
    expect(entry?.request).toMatchObject({ body: '€'.repeat(333), bodyEncoding: 'utf8' });
    expect(entry?.response).toMatchObject({ bodyEncoding: 'base64', bodyBytes: 5_000 });
    expect(sizes).toEqual({
      requestBodyBytes: 3000,
      requestBodyBytesShown: 999,
      responseBodyBytes: 100,
      responseBodyBytesShown: 100,
      requestText: undefined,
      responseText: undefined,
    });
    expect(await store.preview(newLogRow().id, 1000)).toBeUndefined();
  });

  test('reads the beginnings of request bodies of one project', async () => {
    const project = newProject();
    const [long, empty] = [
      newLogRow({ ...project, requestBody: Buffer.from('€'.repeat(100)) }),
      newLogRow({ ...project, requestBody: Buffer.alloc(0) }),
    ];
    const other = newLogRow({ ...newProject(), requestBody: Buffer.from('secret') });
    await insert([long, empty, other]);
    const keys = [long, empty, other].map(({ id, receivedAtUs }) => ({ id, receivedAt: formatTime(receivedAtUs) }));
    const { projectUid, namespace, project: name } = long;
    const found = await store.requestBodies({ projectUid, namespace, project: name, keys }, 100);
    expect(found.get(long.id)).toEqual({ bytes: Buffer.from('€'.repeat(33)), bytesWhole: 300 });
    expect(found.get(empty.id)?.bytesWhole).toBe(0);
    expect(found.size).toBe(2);
    const scope = { projectUid, namespace, project: name };
    expect(await store.requestBodies({ ...scope, project: 'renamed', keys }, 100)).toEqual(new Map());
    await expect(store.requestBodies({ ...scope, keys: [{ id: 'x', receivedAt: 'y' }] }, 100)).rejects.toThrow(
      'a key is not a cursor',
    );
  });

  test('finds an entry whose id contains a very different time', async () => {
    const row = newLogRow({ ...newProject(), id: '00000000-0001-7000-8000-000000000001' });
    await insert([row]);
    expect((await store.get(row.id))?.id).toBe(row.id);
  });
});

describe('tail', () => {
  test('shows new entries once, even late or duplicate ones', async () => {
    const { projectUid } = newLogRow(newProject());
    const sinceUs = (Date.now() - 3_600_000) * 1_000;
    const at = (minutes: number): LogRow => newLogRow({ projectUid, receivedAtUs: sinceUs + minutes * 60_000_000 });
    const [before, first, second, late] = [at(-1), at(30), at(40), at(1)] as const;
    await insert([before, first]);

    const stop = new AbortController();
    const seen: string[] = [];
    for await (const { id } of tailLog(store, { projectUid, sinceUs }, stop.signal, { pollIntervalMs: 20 })) {
      seen.push(id);
      if (id === first.id) await insert([second, first]);
      if (id === second.id) await insert([second, late]);
      if (id === late.id) stop.abort();
    }
    expect(seen).toEqual([first.id, second.id, late.id]);
  });
});

describe('migrations', () => {
  test('can run repeatedly and concurrently, even on a new database', async () => {
    const stores = Array.from({ length: 6 }, () => openLogStore({ ...clickHouse, database: 'fresh' }));
    await Promise.all(stores.map((other) => other.migrate()));
    await Promise.all(stores.map((other) => other.migrate()));
    expect(await query('SELECT count() FROM fresh.log')).toBe('0');
    const numbers = (await loadMigrations({ ...clickHouse, database: 'fresh' })).map(({ number }) => number);
    expect(numbers.length).toBeGreaterThan(1);
    expect(await query('SELECT DISTINCT number FROM fresh.migrations ORDER BY number')).toBe(numbers.join('\n'));
    await Promise.all(stores.map((other) => other.close()));
  });

  test('are valid SQL in the cluster variant', async () => {
    const migrations = await loadMigrations({ database: 'standin', cluster: 'main' });
    for (const statement of migrations.flatMap(({ statements }) => statements)) {
      const quoted = statement.replace(/[\\']/g, '\\$&');
      expect(await query(`SELECT formatQuerySingleLine('${quoted}') FORMAT TSVRaw`)).toContain('ON CLUSTER main');
    }
  });

  test('create the columns in the order in which rows are encoded', async () => {
    const names = await query(
      "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 'log' AND default_kind != 'MATERIALIZED' AND name != 'inserted_at' ORDER BY position",
    );
    expect(names.split('\n')).toEqual([...LOG_COLUMNS, 'request_text', 'response_text']);
  });

  test('do not rely on server defaults', async () => {
    const engine = await query(
      `SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = '${logTableName(clickHouse)}'`,
    );
    expect(engine).toContain('ReplacingMergeTree(version) PARTITION BY toDate(received_at)');
    expect(engine).toContain('ORDER BY (project_uid, received_at, id) TTL expires_at');
    const windows = ['non_replicated_deduplication_window = 10000', 'replicated_deduplication_window = 10000'];
    for (const setting of [...windows, 'fsync_after_insert = 1', 'fsync_part_directory = 1']) {
      expect(engine).toContain(setting);
    }
  });
});

describe('errors', () => {
  test('a truncated batch fails permanently and leaves no rows', async () => {
    const row = newLogRow(newProject());
    const rows = Buffer.concat([encodeRow(row), encodeRow(newLogRow()).subarray(0, 50)]);
    const failed = store.insert({ rows, rowCount: 2, token: `cut-${row.id}` });
    await expect(failed).rejects.toMatchObject({ name: 'LogStoreError', kind: 'permanent', code: '33' });
    expect(await store.get(row.id)).toBeUndefined();
  });

  test('a missing database is a retryable error', async () => {
    const other = openLogStore({ ...clickHouse, database: 'nowhere' });
    const failed = other.insert({ rows: encodeRow(newLogRow()), rowCount: 1, token: 't' });
    await expect(failed).rejects.toMatchObject({ kind: 'retryable', code: '81' });
    await other.close();
  });

  test('an unreachable server is a retryable error', async () => {
    const other = openLogStore({ ...clickHouse, url: 'http://127.0.0.1:1' });
    await expect(other.list({ projectUid: EVERY_PROJECT, limit: 1 })).rejects.toMatchObject({
      kind: 'retryable',
      code: 'ECONNREFUSED',
    });
    await expect(other.ping()).rejects.toMatchObject({ kind: 'retryable' });
    await other.close();
  });

  test('an exception with status 200 is an error', async () => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { 'X-ClickHouse-Exception-Code': '241' });
      response.end('Code: 241. DB::Exception: Memory limit (total) exceeded. (MEMORY_LIMIT_EXCEEDED)');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const other = openLogStore({ ...clickHouse, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    const failed = other.insert({ rows: encodeRow(newLogRow()), rowCount: 1, token: 't' });
    await expect(failed).rejects.toMatchObject({ kind: 'retryable', code: '241' });
    await other.close();
    server.close();
  });
});

describe('countEach', () => {
  const start = Date.UTC(2026, 10, 21, 7) * 1000;
  const search = (text: string): Filter => {
    const parsed = parseFilter(text);
    if (parsed.kind === 'invalid') throw new Error(parsed.problem.message);
    return parsed.filter;
  };
  const changes: Partial<LogRow>[] = [
    {},
    { method: 'GET' },
    { status: 500 },
    { version: 1, status: 0, outcome: 'response_unknown', responseBody: Buffer.alloc(0) },
    { version: 0, status: 0, outcome: 'in_progress', responseBody: Buffer.alloc(0) },
    { receivedAtUs: start + 100 },
  ];
  const [one, other] = [newProject(), newProject()];
  const rows = [one, other].flatMap((project) =>
    changes.map((change, index) =>
      newLogRow({ ...project, requestBody: Buffer.from('{"id": "pr-1"}'), receivedAtUs: start + index, ...change }),
    ),
  );
  const filter = (text: string | undefined, { projectUid = '' }: Partial<LogRow> = one) => ({
    projectUid,
    namespace: 'default',
    project: 'shop',
    sinceUs: start,
    untilUs: start + 100,
    search: text === undefined ? undefined : search(text),
  });
  const numbers = async (text: string | undefined): Promise<(readonly number[])[]> => {
    const found = await store.countEach([filter(text), filter('method:DELETE'), filter(text, other)], 10);
    return found.map(({ certain, withoutResponse, inProgress }) => [certain, withoutResponse, inProgress]);
  };

  beforeAll(async () => {
    await insert(rows);
    await insert(rows);
  });

  test.each<[string | undefined, readonly number[]]>([
    [undefined, [5, 0, 0]],
    ['method:POST', [4, 0, 0]],
    ['method:POST body:"pr-1"', [4, 0, 0]],
    ['body:"pr-2"', [0, 0, 0]],
    ['status:500', [1, 0, 1]],
    ['-status:500', [2, 1, 1]],
    ['method:GET status:500', [0, 0, 0]],
    ['"pr-1"', [3, 1, 1]],
  ])('counts %s by what is in the log, each request once', async (text, expected) => {
    expect(await numbers(text)).toEqual([expected, [0, 0, 0], expected]);
  });

  test('returns ids of the requests that it counts, up to a maximum', async () => {
    const readIds = async (text: string | undefined, max: number) =>
      (await store.countEach([filter(text)], max))[0]?.ids;
    const ids = rows.map(({ id }) => id);
    expect([...((await readIds(undefined, 10)) ?? [])].sort()).toEqual(ids.slice(0, 5).sort());
    expect(await readIds('-status:500', 10)).not.toContain(ids[4]);
    expect(await readIds(undefined, 2)).toHaveLength(2);
    expect(await readIds('method:DELETE', 10)).toEqual([]);
  });

  test('agrees with count for any search on whole exchanges', async () => {
    const project = newProject();
    const whole = Array.from({ length: 30 }, (_, index) =>
      newLogRow({ ...project, status: 200 + (index % 4) * 100, receivedAtUs: start + index }),
    );
    await insert(whole);
    await fc.assert(
      fc.asyncProperty(fc.array(anyFilter, { minLength: 1, maxLength: 5 }), async (searches) => {
        const filters = searches.map((one) => ({ ...filter(undefined, project), search: one }));
        const counts = await store.countEach(filters, 1);
        const each = await Promise.all(filters.map((wanted) => store.count(wanted)));
        expect(counts.map(({ certain }) => certain)).toEqual(each);
      }),
      { numRuns: 30 },
    );
  });

  test('takes many filters', async () => {
    const filters = Array.from({ length: 32 }, (_, index) =>
      filter(`body:"pr-${index}" path:/v1/* -status:5xx text-${index}`),
    );
    expect(await store.countEach(filters, 10)).toHaveLength(32);
    expect(await store.countEach([], 10)).toEqual([]);
  });
});
