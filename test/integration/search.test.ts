import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { LogRow } from '@standin/contract';
import { encodeRow, openLogStore, tailSummaries, type LogStore } from '@standin/logstore';
import { matchSearch } from '@standin/exchange/near-misses';
import { formatFilter, parseFilter, type Filter } from '@standin/exchange/search';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { addBodyTexts } from '../../gateway/src/deliver/add-body-texts.ts';
import { compileFilter } from '../../packages/logstore/src/search/compile-filter.ts';
import { anyFilter } from '../../packages/exchange/src/search/filter.testing.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { clickHouseQuery } from '../harness/clickhouse-query.ts';

let clickHouse: TestClickHouse;
let store: LogStore;

beforeAll(async () => {
  clickHouse = await startClickHouse();
  store = openLogStore(clickHouse);
  await store.migrate();
});

afterAll(async () => {
  await store.close();
  await clickHouse.stop();
});

let batches = 0;
const insert = (rows: readonly LogRow[]): Promise<void> =>
  store.insert({ rows: Buffer.concat(rows.map(encodeRow)), rowCount: rows.length, token: `batch-${batches++}` });

/** The number of projects so far. Each group of tests has its own project. */
let projects = 0;
const newProject = (): string => `project-${projects++}`;

const search = (text: string): Filter => {
  const result = parseFilter(text);
  if (result.kind === 'invalid') throw new Error(`${text}: ${result.problem.message}`);
  return result.filter;
};

const MINUTE_US = 60_000_000;
const nowUs = Date.now() * 1000;

describe('the search', () => {
  const projectUid = newProject();
  /** One row per letter, newest first. Each differs from the first row in the property that its tests search for. */
  const changes: Readonly<Record<string, Partial<LogRow>>> = {
    a: {},
    b: { method: 'GET', path: '/v1/orders/17', query: 'page=2&q=a%20b', requestBody: Buffer.alloc(0) },
    c: { status: 404, durationUs: 250_000, endpoint: 'health', requestBody: Buffer.from('{"event":"Refund"}') },
    d: {
      response: 'gold',
      status: 500,
      durationUs: 250_001,
      outcome: 'forwarded',
      action: 'Forward',
      upstreamUrl: 'https://up.test/x?y',
    },
    e: {
      response: 'gold-plus',
      status: 503,
      outcome: 'upstream_failed',
      requestHeaders: [
        ['X-Event', 'pull'],
        ['X-EVENT', 'push'],
        ['x-other', 'Café *'],
      ],
    },
    f: { version: 1, status: 0, outcome: 'response_unknown', responseBody: Buffer.alloc(0), responseBodyBytes: 0 },
    g: { requestBody: Buffer.from('a\0b\xff\xfe\xe9"end"', 'latin1'), responseBody: Buffer.from('50%_of\\it\nand é') },
    h: {
      path: '/caf\xe9',
      query: 'd=\xc3\xa9',
      gateway: 'gateway-7',
      keyFingerprint: 'deadbeef',
      clientAddress: '10.1.2.3',
      credential: 'signature' as const,
      deliveryId: 'evt_1a2b',
    },
    i: { project: 'other', namespace: 'team-a', account: 'them', requestBody: Buffer.alloc(20_000, 'z') },
    j: {
      responseHeaders: [
        ['Content-Type', 'text/html'],
        ['x-empty', ''],
      ],
      responseBodyBytes: 5_000_000,
      responseTruncated: true,
    },
  };
  const letters = Object.keys(changes);
  const rows = letters.map((letter, index) =>
    newLogRow({ projectUid, receivedAtUs: nowUs - index * MINUTE_US, ...changes[letter] }),
  );
  const all = letters.join('');

  beforeAll(() => insert(rows));

  const found = async (text: string): Promise<string> => {
    const summaries = await store.summaries({ projectUid, search: search(text), limit: 100 });
    return summaries.map(({ id }) => letters[rows.findIndex((row) => row.id === id)]).join('');
  };
  const except = (some: string): string => letters.filter((letter) => !some.includes(letter)).join('');

  const SEARCHES: readonly (readonly [string, string])[] = [
    ['', all],
    ['method:GET', 'b'],
    ['credential:signature', 'h'],
    ['credential:KEY', except('h')],
    ['delivery:evt_1a2b', 'h'],
    ['delivery:evt_*', 'h'],
    ['delivery:""', except('h')],
    ['-method:GET', except('b')],
    ['status:404', 'c'],
    ['status:>404', 'de'],
    ['status:>=404', 'cde'],
    ['status:<404', except('cdef')],
    ['status:<=404', except('def')],
    ['status:5xx', 'de'],
    ['status:404-500', 'cd'],
    ['status:none', 'f'],
    ['-status:2xx', 'cdef'],
    ['path:/v1/orders', except('bh')],
    ['path:/v1/*', except('h')],
    ['path:*/17', 'b'],
    ['path:/v1/*/1*', 'b'],
    ['path:/V1/*', ''],
    ['path:/café', 'h'],
    [String.raw`path:/caf\xe9`, 'h'],
    [String.raw`path:/v1/\*`, ''],
    ['query:PAGE=2', 'b'],
    ['query:%20', 'b'],
    ['query:é', 'h'],
    ['query:Ã©', 'h'],
    ['body:refund', 'c'],
    ['body:"\\"event\\":\\"refund\\""', 'c'],
    ['body:*', ''],
    [String.raw`body:a\x00b`, 'g'],
    [String.raw`body:\xff\xfe`, 'g'],
    [String.raw`body:\xe9`, 'g'],
    ['body:é', ''],
    ['body:"\\"end"', 'g'],
    ['body:zzzzzzzz', 'i'],
    [String.raw`resp.body:"%_of\\it\nAND"`, 'g'],
    ['resp.body:%', 'g'],
    ['resp.body:é', 'g'],
    ['resp.body:id', except('fg')],
    ['-resp.body:id', 'fg'],
    ['dur:>250ms', 'd'],
    ['dur:>=250ms', 'cd'],
    ['dur:<1ms', except('cd')],
    ['dur:<=812us', except('cd')],
    ['dur:100ms-250ms', 'c'],
    ['size:>10kb', 'i'],
    ['size:15', except('bcfgi')],
    ['size:<=8', 'bf'],
    ['req.size:0', 'b'],
    ['req.size:20kb', 'i'],
    ['req.size:>7', 'cgi'],
    ['resp.size:>=5mb', 'j'],
    ['resp.size:0-1', 'f'],
    ['endpoint:health', 'c'],
    ['-endpoint:create-*', 'c'],
    ['endpoint:*', all],
    ['response:gold', 'd'],
    ['response:gold*', 'de'],
    ['response:GOLD', ''],
    ['response:""', except('de')],
    ['-response:gold', except('d')],
    ['response:gold OR response:gold-plus', 'de'],
    ['project:other', 'i'],
    ['namespace:team-*', 'i'],
    ['account:them', 'i'],
    ['gateway:gateway-7', 'h'],
    ['key:dead*', 'h'],
    ['client:10.1.*', 'h'],
    ['outcome:forwarded', 'd'],
    ['outcome:response_unknown', 'f'],
    ['-outcome:mocked', 'def'],
    ['action:Forward', 'd'],
    ['upstream:https://up.test/*', 'd'],
    ['upstream:""', except('d')],
    ['header.x-event:push', 'e'],
    ['header.X-Event:pull', 'e'],
    ['header.x-event:PUSH', ''],
    ['header.x-event:pu*', 'e'],
    ['header.x-event:*sh', 'e'],
    ['header.x-event:*', 'e'],
    ['-header.x-event:*', except('e')],
    ['header.content-type:application/*', except('e')],
    ['header.content-type:push', ''],
    [String.raw`header.x-other:"Café \*"`, 'e'],
    [String.raw`header.x-other:"*\*"`, 'e'],
    ['header.host:localhost', except('e')],
    ['resp.header.content-type:text/*', 'j'],
    ['resp.header.content-type:text/html', 'j'],
    ['resp.header.x-empty:""', 'j'],
    ['resp.header.x-event:*', ''],
    ['refund', 'c'],
    ['"x-event: push"', 'e'],
    ['text/HTML', 'j'],
    ['orders/17?page', 'b'],
    ['café', 'eh'],
    [String.raw`\xff\xfe`, 'g'],
    ['-text/HTML', except('j')],
    ['method:GET OR status:404', 'bc'],
    ['(method:GET OR status:404) -endpoint:health', 'b'],
    ['-(method:GET OR status:404)', except('bc')],
    ['status:>=500 -outcome:forwarded', 'e'],
  ];
  test.each(SEARCHES)('finds the rows of %s', async (text, expected) => {
    expect(await found(text)).toBe(expected);
    expect(await store.count({ projectUid, search: search(text) })).toBe(expected.length);
  });

  test('finds a complete id and a prefix of one', async () => {
    const [first] = rows;
    expect(await found(`id:${first?.id ?? ''}`)).toBe('a');
    expect(await found(`id:${first?.id.slice(0, 35).toUpperCase() ?? ''}*`)).toBe('a');
    expect(await found('id:ffffffff-*')).toBe('');
  });

  test.each([
    `body:"' OR 1=1 --"`,
    `path:"') OR (1=1"`,
    String.raw`endpoint:"\\') OR 1=1 --"`,
    `header.x-event:"'; DROP TABLE log"`,
    'header.{x:String}:1',
    'body:{search1:String}',
    `"') UNION ALL SELECT * FROM log --"`,
    '-body:"{search0:UInt64}" body:%',
  ])('treats %s as text, not as SQL', async (text) => {
    const result = parseFilter(text);
    if (result.kind === 'parsed') {
      expect(await store.summaries({ projectUid, search: result.filter, limit: 100 })).toEqual([]);
    }
    expect(await store.count({ projectUid })).toBe(rows.length);
  });

  test('compiles any search to SQL that ClickHouse accepts', async () => {
    for (const filter of fc.sample(anyFilter, { numRuns: 60, seed: 7 })) {
      const negated: Filter = filter.kind === 'everything' ? filter : { kind: 'not', condition: filter };
      const [those, others] = await Promise.all([
        store.count({ projectUid, search: filter }),
        store.count({ projectUid, search: negated }),
      ]);
      expect(filter.kind === 'everything' ? those : those + others).toBe(rows.length);
    }
  });

  test('agrees with the terms that a request meets, as far as these can be known', async () => {
    const summaries = await store.summaries({ projectUid, limit: 100 });
    const [whole, cut] = await Promise.all([store.previews(summaries, 1_000_000), store.previews(summaries, 3)]);
    expect(whole).toHaveLength(rows.length);
    const others = fc.sample(anyFilter, { numRuns: 60, seed: 11 }).map((filter) => [formatFilter(filter)] as const);
    const searches: readonly (readonly [string, string?])[] = [...SEARCHES, ...others];
    const decided = { whole: new Set<string>(), cut: new Set<string>() };
    for (const [text, known] of searches) {
      const parsed = parseFilter(text);
      if (parsed.kind === 'invalid') throw new Error(text);
      const expected = known ?? (await found(text));
      for (const [previews, verdicts] of [
        [whole, decided.whole],
        [cut, decided.cut],
      ] as const)
        for (const [index, preview] of previews.entries()) {
          const { unmet, unknown } = matchSearch(parsed, preview);
          const verdict = unmet.length > 0 ? 'unmet' : unknown.length > 0 ? 'unknown' : 'met';
          const letter = letters[index] ?? '';
          verdicts.add(verdict);
          if (verdict !== 'unknown')
            expect([text, letter, verdict]).toEqual([text, letter, expected.includes(letter) ? 'met' : 'unmet']);
        }
    }
    expect(decided.whole).toEqual(new Set(['met', 'unmet']));
    expect(decided.cut).toEqual(new Set(['met', 'unmet', 'unknown']));
  });

  test('filters a tail', async () => {
    const stop = new AbortController();
    const sinceUs = (Date.now() - 3_600_000) * 1_000;
    const options = { pollIntervalMs: 20 };
    const seen: string[] = [];
    const late = newLogRow({ projectUid: `${projectUid}-tail`, status: 500, requestBody: Buffer.from('in the TAIL') });
    const other = newLogRow({ projectUid: `${projectUid}-tail`, status: 500 });
    const filter = { projectUid: `${projectUid}-tail`, search: search('status:5xx tail'), sinceUs };
    await insert([other, late]);
    for await (const { id } of tailSummaries(store, filter, stop.signal, options)) {
      seen.push(id);
      stop.abort();
    }
    expect(seen).toEqual([late.id]);
  });
});

describe('rows that were inserted repeatedly', () => {
  const projectUid = newProject();
  const rows = Array.from({ length: 40 }, (_row, index) =>
    newLogRow({ projectUid, receivedAtUs: nowUs - index * MINUTE_US, status: index % 4 === 0 ? 500 : 200 }),
  );
  const nothing = { status: 0, responseBody: Buffer.alloc(0) };
  const alone = rows.map((row): LogRow => ({ ...row, ...nothing, version: 1, outcome: 'response_unknown' }));
  const running = rows.map((row): LogRow => ({ ...row, ...nothing, version: 0, outcome: 'in_progress' }));

  beforeAll(async () => {
    await insert(rows);
    await insert(alone);
    await insert(running);
    await insert(rows);
  });

  test.each([
    ['', 40],
    ['status:500', 10],
    ['-status:200', 10],
    ['status:none', 0],
    ['outcome:in_progress', 0],
    ['-status:2xx -status:5xx', 0],
    ['outcome:mocked body:a', 40],
  ])('%j finds each row once and no replaced row', async (text, expected) => {
    const filter = { projectUid, search: search(text) };
    const listed = await store.summaries({ ...filter, limit: 100 });
    expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
    expect(listed).toHaveLength(expected);
    expect(listed.every(({ outcome }) => outcome === 'mocked')).toBe(true);
    expect(await store.count(filter)).toBe(expected);
  });

  test.each(['newest-first', 'oldest-first'] as const)(
    'pages in %s order have no gaps or duplicates',
    async (order) => {
      const filter = { projectUid, search: search('-status:500'), order };
      const ids: string[] = [];
      for (let after; ;) {
        const page = await store.summaries({ ...filter, limit: 7, after });
        ids.push(...page.map(({ id }) => id));
        after = page.at(-1);
        if (page.length < 7) break;
      }
      const expected = rows.filter(({ status }) => status !== 500).map(({ id }) => id);
      expect(ids).toEqual(order === 'newest-first' ? expected : expected.toReversed());
    },
  );

  test('a histogram counts each row once', async () => {
    const range = { from: new Date(nowUs / 1000 - 3_600_000), to: new Date(nowUs / 1000 + 1), buckets: 1 };
    const [bucket] = await store.histogram({ projectUid }, range);
    expect(bucket?.counts).toEqual({ none: 0, '1xx': 0, '2xx': 30, '3xx': 0, '4xx': 0, '5xx': 10 });
  });
});

describe('a log of many days', () => {
  const projectUid = newProject();
  const DAY_US = 86_400_000_000;
  const ages = [
    -5 * MINUTE_US,
    0,
    30 * MINUTE_US,
    2 * 60 * MINUTE_US,
    DAY_US - MINUTE_US,
    DAY_US + MINUTE_US,
    9 * DAY_US,
  ];
  const rows = ages.map((age) => newLogRow({ projectUid, receivedAtUs: nowUs - age }));
  const ids = rows.map(({ id }) => id);

  beforeAll(() => insert(rows));

  test('is listed completely, newest first, even rows with a time in the future', async () => {
    expect((await store.summaries({ projectUid, limit: 100 })).map(({ id }) => id)).toEqual(ids);
    expect((await store.summaries({ projectUid, limit: 4 })).map(({ id }) => id)).toEqual(ids.slice(0, 4));
  });

  test('is listed between two times and after a cursor', async () => {
    const untilUs = nowUs - MINUTE_US;
    const sinceUs = nowUs - 2 * DAY_US;
    expect((await store.summaries({ projectUid, sinceUs, untilUs, limit: 100 })).map(({ id }) => id)).toEqual(
      ids.slice(2, 6),
    );
    const [after] = (await store.summaries({ projectUid, limit: 4 })).slice(-1);
    expect((await store.summaries({ projectUid, after, limit: 100 })).map(({ id }) => id)).toEqual(ids.slice(4));
  });
});

describe('histogram', () => {
  const projectUid = newProject();
  const from = new Date(Math.floor(nowUs / 1000) - 600_000);
  const at = (ms: number, status: number): LogRow =>
    newLogRow({ projectUid, receivedAtUs: (from.getTime() + ms) * 1000, status, ...(status === 0 && { version: 1 }) });

  beforeAll(() =>
    insert([
      at(-1, 200),
      at(0, 200),
      at(999, 301),
      at(1_000, 404),
      at(1_500, 0),
      at(2_999, 503),
      at(2_000, 700),
      at(3_000, 200),
    ]),
  );

  test('counts requests by time and status class', async () => {
    const none = { none: 0, '1xx': 0, '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0 };
    const range = { from, to: new Date(from.getTime() + 3_000), buckets: 3 };
    expect(await store.histogram({ projectUid }, range)).toEqual([
      { start: from, counts: { ...none, '2xx': 1, '3xx': 1 } },
      { start: new Date(from.getTime() + 1_000), counts: { ...none, '4xx': 1, none: 1 } },
      { start: new Date(from.getTime() + 2_000), counts: { ...none, '5xx': 2 } },
    ]);
    const found = await store.histogram({ projectUid, search: search('status:4xx') }, range);
    expect(found.map(({ counts }) => counts)).toEqual([none, { ...none, '4xx': 1 }, none]);
  });

  test('can be estimated from a sample of the blocks', async () => {
    const [ROWS, ONE_IN] = [50_000, 2];
    const many = newProject();
    await insert(
      Array.from({ length: ROWS }, (_row, index) => newLogRow({ projectUid: many, receivedAtUs: nowUs - index })),
    );
    const range = { from, to: new Date(Date.now() + 60_000), buckets: 1 };
    const histogramTotal = async (oneIn: number): Promise<number> => {
      const [bucket] = await store.histogram({ projectUid: many }, { ...range, oneIn });
      return Object.values(bucket?.counts ?? {}).reduce((sum, count) => sum + count, 0);
    };
    expect(await histogramTotal(1)).toBe(ROWS);
    const estimate = await histogramTotal(ONE_IN);
    expect(estimate % ONE_IN).toBe(0);
    expect(estimate).toBeLessThanOrEqual(ROWS * ONE_IN);
    expect(await histogramTotal(1_000_000)).not.toBe(ROWS);
  });

  test('loses no rows if the buckets do not divide the range evenly', async () => {
    const range = { from, to: new Date(from.getTime() + 3_000), buckets: 7 };
    const buckets = await store.histogram({ projectUid }, range);
    expect(buckets).toHaveLength(7);
    const total = buckets.flatMap(({ counts }) => Object.values(counts)).reduce((sum, count) => sum + count, 0);
    expect(total).toBe(6);
  });

  test.each([
    ['no bucket', { from, to: new Date(), buckets: 0 }],
    ['half a bucket', { from, to: new Date(), buckets: 1.5 }],
    ['too many buckets', { from, to: new Date(), buckets: 121 }],
    ['an empty range', { from, to: from, buckets: 1 }],
    ['an invalid time', { from, to: new Date(Number.NaN), buckets: 1 }],
    ['half a sample', { from, to: new Date(), buckets: 1, oneIn: 1.5 }],
  ])('rejects %s', async (_what, range) => {
    await expect(store.histogram({ projectUid }, range)).rejects.toThrow('must be');
  });
});

describe('distinct', () => {
  const projectUid = newProject();
  const other = newProject();

  beforeAll(() =>
    insert([
      newLogRow({ projectUid, endpoint: 'rare', status: 0, version: 1, path: '/caf\xe9' }),
      newLogRow({ projectUid, endpoint: 'often', method: 'GET', requestHeaders: [['X-Event', 'push']] }),
      newLogRow({
        projectUid,
        endpoint: 'often',
        response: 'gold',
        requestHeaders: [
          ['x-event', 'Pull'],
          ['X-Event', 'push'],
        ],
      }),
      newLogRow({ projectUid: other, endpoint: 'elsewhere' }),
      newLogRow({ projectUid, endpoint: 'expired', expiresAtS: 1 }),
    ]),
  );

  test.each([
    ['endpoint', '', ['often', 'rare']],
    ['endpoint', 'RA', ['rare']],
    ['endpoint', '%', []],
    ['response', '', ['gold']],
    ['method', 'g', ['GET']],
    ['status', '', ['200', 'none']],
    ['path', '/CAF\xe9', ['/caf\xe9']],
    ['header', 'x-', ['x-event']],
    ['resp.header', '', ['content-type']],
    ['header.x-event', '', ['push', 'Pull']],
    ['header.X-Event', 'pul', ['Pull']],
    ['resp.header.content-type', 'app', ['application/json']],
  ] as const)('returns the values of %s with the prefix %j', async (field, prefix, expected) => {
    expect(await store.distinct(field, { projectUid }, { prefix, limit: 10 })).toEqual(expected);
  });

  test('returns values of matching rows, up to the limit', async () => {
    const filter = { projectUid, search: search('method:GET') };
    expect(await store.distinct('header.x-event', filter, { limit: 10 })).toEqual(['push']);
    expect(await store.distinct('endpoint', { projectUid }, { limit: 1 })).toEqual(['often']);
  });

  test('rejects an invalid field and a limit that is too large', async () => {
    await expect(store.distinct('header.a b', { projectUid }, { limit: 1 })).rejects.toThrow('does not exist');
    await expect(store.distinct('endpoint', { projectUid }, { limit: 101 })).rejects.toThrow('limit must be');
  });
});

describe('encoded bodies', () => {
  const projectUid = newProject();
  const body = Buffer.from('{"customer":"Zoë","event":"chargeback"}');
  const rows = [
    newLogRow({
      projectUid,
      requestHeaders: [
        ['content-type', 'application/json'],
        ['content-encoding', 'gzip'],
      ],
      requestBody: gzipSync(body),
    }),
    newLogRow({
      projectUid,
      requestHeaders: [['content-type', 'application/x-www-form-urlencoded; charset=ISO-8859-1']],
      requestBody: Buffer.from('customer=Zo\xeb', 'latin1'),
    }),
    newLogRow({
      projectUid,
      responseHeaders: [['content-encoding', 'br']],
      responseBody: brotliCompressSync('{"reason":"insufficient funds"}'),
    }),
    newLogRow({ projectUid, requestBody: Buffer.from('{"event":"plain"}') }),
  ];
  const [gzipped, form, response, plain] = rows.map(({ id }) => id);

  beforeAll(async () => {
    const encoded = rows.map(encodeRow);
    let end = 0;
    const ends = encoded.map(({ length }) => (end += length));
    const texts = Buffer.from(addBodyTexts({ rows: Buffer.concat(encoded), ends, withText: [0, 1, 2] }));
    // Under two tokens, as if ClickHouse had forgotten the first one.
    for (const token of ['texts', 'texts-again'])
      await store.insert({ rows: texts, rowCount: rows.length, token, hasTexts: true });
  });

  test.each([
    ['body:chargeback', [gzipped]],
    ['body:zoë', [gzipped, form]],
    ['body:"customer=zoë"', [form]],
    [String.raw`body:\xeb`, []],
    ['resp.body:"insufficient funds"', [response]],
    ['"insufficient funds"', [response]],
    ['-body:zoë', [response, plain]],
    ['body:event', [gzipped, plain]],
    ['req.size:>20', [gzipped]],
  ])('are found by their text once: %s', async (text, ids) => {
    const found = await store.summaries({ projectUid, search: search(text), limit: 100 });
    expect(found.map(({ id }) => id).sort()).toEqual([...ids].sort());
    expect(await store.count({ projectUid, search: search(text) })).toBe(ids.length);
  });

  test('are read as they were sent, and previewed as text', async () => {
    const [row] = rows;
    expect((await store.row(gzipped ?? ''))?.requestBody).toEqual(row?.requestBody);
    const { namespace = '', project = '' } = row ?? {};
    const keys = (await store.list({ projectUid, limit: 10 })).map(({ id, receivedAt }) => ({ id, receivedAt }));
    const starts = await store.requestBodies({ projectUid, namespace, project, keys }, 16);
    expect(starts.get(gzipped ?? '')).toEqual({ bytes: body.subarray(0, 15), bytesWhole: body.length });
    const preview = await store.preview(gzipped ?? '', 16);
    expect(preview?.requestText).toEqual({ text: '{"customer":"Zo', isCut: true });
    expect((await store.preview(plain ?? '', 16))?.requestText).toBeUndefined();
    expect(starts.get(plain ?? '')?.bytes.toString()).toBe('{"event":"plain"');
  });
});

describe('indexes', () => {
  beforeAll(() => insert([newLogRow({ projectUid: newProject() })]));

  // If an expression in columns.ts differed from that of the index, the query would still work, but slowly.
  test.each([
    ['body:nowhere-to-be-found', ['search_request_body']],
    ['resp.body:nowhere-to-be-found', ['search_response_body']],
    ['header.x-request-id:nowhere', ['search_request_header_values']],
    ['resp.header.x-request-id:nowhere', ['search_response_header_values']],
    ['nowhere-to-be-found', ['search_head', 'search_request_body', 'search_response_body']],
    ['id:01931f3e-7c3a-7bbb-8ccc-0123456789ab', ['id_bloom']],
  ])('are used for %s', async (text, names) => {
    const { conditions, params } = compileFilter(search(text));
    const plan = await clickHouseQuery(clickHouse)(
      `EXPLAIN indexes = 1 SELECT id FROM log WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`,
      params,
    );
    expect([...plan.matchAll(/Name: (\w+)/g)].map(([, name]) => name).sort()).toEqual(names);
    const [, read, all] = [...plan.matchAll(/Granules: (\d+)\/(\d+)/g)].at(-1) ?? [];
    // A bloom filter may report a missing id as present, with a probability of one percent.
    expect(Number(read)).toBeLessThanOrEqual(names.includes('id_bloom') ? Number(all) / 2 : 0);
  });
});
