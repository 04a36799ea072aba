import { parseInstant, SourceError, type LogRow } from '@standin/contract';
import { toLogSummary, type LogSummary } from '@standin/exchange';
import { testPreview } from '@standin/exchange/entry-testing';
import { matchSearch } from '@standin/exchange/near-misses';
import { newLogRow } from '@standin/exchange/testing';
import type { CountFilter, InsertFeed } from '@standin/logstore';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OfProject, ProjectLog } from '../backend.ts';
import { backendWith, startApiServer, type ApiServer } from './api-server.testing.ts';

const summary = (row: LogRow): LogSummary => ({ ...toLogSummary(row), bodyBytes: 0, insertedAtMs: 0 });

/** A log in memory. `insert` adds rows that are visible from then on, `accept` rows that only `settle` shows. */
const memoryLog = () => {
  const rows: LogRow[] = [];
  const accepted: LogRow[] = [];
  let woken: PromiseWithResolvers<void> = Promise.withResolvers();
  const key = ({ receivedAtUs, id }: Pick<LogRow, 'receivedAtUs' | 'id'>): string =>
    `${String(receivedAtUs).padStart(20, '0')} ${id}`;
  const select = ({ search, sinceUs = 0, untilUs = Infinity, after }: OfProject<CountFilter>): LogRow[] => {
    const behind = after && key({ receivedAtUs: parseInstant(after.receivedAt) ?? 0, id: after.id });
    return rows
      .filter((row) => {
        const match = search && matchSearch({ kind: 'parsed', filter: search, terms: [] }, testPreview(row));
        return (
          (match === undefined || match.unmet.length === 0) &&
          row.receivedAtUs >= sinceUs &&
          row.receivedAtUs < untilUs &&
          (behind === undefined || key(row) > behind)
        );
      })
      .sort((a, b) => (key(a) < key(b) ? -1 : 1));
  };
  const insert = (...added: readonly LogRow[]): void => {
    rows.push(...added);
    woken.resolve();
  };
  const follow = (): InsertFeed => {
    let isFirst = true;
    const feed = {
      isClosed: false,
      next: async () => {
        if (!isFirst && !feed.isClosed) await woken.promise;
        isFirst = false;
        woken = Promise.withResolvers();
        return [];
      },
      close: () => {
        feed.isClosed = true;
        woken.resolve();
      },
    };
    return feed;
  };
  const log: Partial<ProjectLog> = {
    count: (filter) => Promise.resolve(select(filter).length),
    summaries: ({ order, limit, ...filter }) => {
      const found = select(filter).map(summary);
      return Promise.resolve((order === 'oldest-first' ? found : found.reverse()).slice(0, limit));
    },
    previews: (summaries) =>
      Promise.resolve(
        summaries.flatMap(({ id }) => rows.filter((row) => row.id === id).map((row) => testPreview(row))),
      ),
    preview: (id) => Promise.resolve(rows.filter((row) => row.id === id).map((row) => testPreview(row))[0]),
    settle: () => {
      insert(...accepted.splice(0));
      return Promise.resolve();
    },
    follow,
  };
  return { log, insert, accept: (row: LogRow) => accepted.push(row) };
};

const START_US = Date.UTC(2026, 10, 28, 10) * 1_000;
const row = (atSecond: number, method: LogRow['method'], path: string, rest: Partial<LogRow> = {}): LogRow =>
  newLogRow({ receivedAtUs: START_US + atSecond * 1_000_000, method, path, ...rest });

let served: Partial<ProjectLog> = {};
let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer(() => Promise.resolve(backendWith(served)));
});
afterAll(() => server[Symbol.asyncDispose]());

const serve = (log: Partial<ProjectLog>) => {
  served = log;
  return async (body: unknown) => {
    const response = await fetch(`${server.shop}/requests:assert`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, json: (await response.json()) as { readonly [field: string]: unknown } };
  };
};

const CART = row(1, 'POST', '/v1/carts');
const ORDER = row(2, 'POST', '/v1/orders', { requestBody: Buffer.from('{"total": 1}') });
const STATUS = row(3, 'GET', '/v1/orders/1');

const serveRows = (...rows: readonly LogRow[]) => {
  const { log, insert } = memoryLog();
  insert(...rows);
  return serve(log);
};

describe('requests:assert', () => {
  test.each<[string, object, boolean]>([
    ['at least one', { expectations: [{ q: 'method:POST' }] }, true],
    ['at least one of none', { expectations: [{ q: 'method:PUT' }] }, false],
    ['exactly two', { expectations: [{ q: 'method:POST', count: { min: 2, max: 2 } }] }, true],
    ['at most one of two', { expectations: [{ q: 'method:POST', count: { max: 1 } }] }, false],
    ['never', { expectations: [{ q: 'method:DELETE', count: { max: 0 } }] }, true],
    ['never of one', { expectations: [{ q: 'method:GET', count: { max: 0 } }] }, false],
    ['an order', { inOrder: true, expectations: [{ q: 'path:*/carts' }, { q: 'path:*/orders' }] }, true],
    ['another order', { inOrder: true, expectations: [{ q: 'path:*/orders' }, { q: 'path:*/carts' }] }, false],
    [
      'an order of the same requests',
      { inOrder: true, expectations: [{ q: 'method:POST' }, { q: 'method:POST' }] },
      true,
    ],
    ['an order of too many', { inOrder: true, expectations: Array(3).fill({ q: 'method:POST' }) }, false],
    [
      'an order without those that have no place in it',
      {
        inOrder: true,
        expectations: [
          { q: 'method:PUT', count: { max: 0 } },
          { q: 'path:*/carts' },
          { q: 'x', count: { min: 0 } },
          {},
        ].map((expectation) => ({ q: 'method:GET', ...expectation })),
      },
      true,
    ],
    ['nothing else', { nothingElse: true, expectations: [{ q: 'method:POST' }, { q: 'method:GET' }] }, true],
    ['nothing else of one', { nothingElse: true, expectations: [{ q: 'method:POST' }] }, false],
    ['nothing else than everything', { nothingElse: true, expectations: [{ q: '' }] }, true],
    ['nothing at all', { nothingElse: true }, false],
    ['nothing at all before', { nothingElse: true, to: '2026-11-28T10:00:01Z' }, true],
    ['a window', { from: '2026-11-28T10:00:02Z', expectations: [{ q: '', count: { min: 2, max: 2 } }] }, true],
    ['after a request', { after: ORDER.id, expectations: [{ q: '', count: { min: 1, max: 1 } }] }, true],
  ])('decides %s', async (_what, body, holds) => {
    const ask = serveRows(CART, ORDER, STATUS);
    const { status, json } = await ask(body);
    expect([status, json['code']]).toEqual(holds ? [200, undefined] : [409, 'assertion_failed']);
  });

  test('returns what was found', async () => {
    const ask = serveRows(CART, ORDER);
    const { json } = await ask({ expectations: [{ q: 'path:/v1/orders' }, { q: 'body:x', count: { max: 0 } }] });
    const requests = [
      { id: ORDER.id, receivedAt: '2026-11-28T10:00:02.000000Z', method: 'POST', path: '/v1/orders', status: 200 },
    ];
    expect(json).toEqual({
      expectations: [
        { q: 'path:/v1/orders', count: 1, requests },
        { q: 'body:x', count: 0, requests: [] },
      ],
    });
  });

  test('says which terms the nearest requests do not meet', async () => {
    const ask = serveRows(CART, ORDER, STATUS);
    const { json } = await ask({ expectations: [{ q: 'path:/v1/orders body:"\\"total\\": 2"' }] });
    expect(json['detail']).toBe(
      `path:/v1/orders body:"\\"total\\": 2": expected at least 1, found 0
  nearest:
    POST /v1/orders  200  2026-11-28T10:00:02.000000Z  ${ORDER.id}
      does not meet body:"\\"total\\": 2"
    GET /v1/orders/1  200  2026-11-28T10:00:03.000000Z  ${STATUS.id}
      does not meet path:/v1/orders and body:"\\"total\\": 2"
    POST /v1/carts  200  2026-11-28T10:00:01.000000Z  ${CART.id}
      does not meet path:/v1/orders and body:"\\"total\\": 2"`,
    );
    expect(json).toMatchObject({
      failures: [
        {
          kind: 'count',
          expectation: 0,
          count: 0,
          nearest: [{ id: ORDER.id, met: [{ from: 0, to: 15 }], unmet: [{ from: 16, to: 35 }] }, {}, {}],
        },
      ],
    });
  });

  test('does not name a request that matches beyond its preview among the nearest', async () => {
    const { log, insert } = memoryLog();
    insert(CART, ORDER);
    const previews: ProjectLog['previews'] = (summaries) =>
      Promise.resolve(
        summaries.flatMap(({ id }) => [CART, ORDER].filter((row) => row.id === id).map((row) => testPreview(row, 1))),
      );
    const ask = serve({ ...log, previews });
    const { json } = await ask({ expectations: [{ q: 'body:total', count: { min: 2 } }] });
    expect(json).toMatchObject({ failures: [{ count: 1, requests: [{ id: ORDER.id }], nearest: [{ id: CART.id }] }] });
  });

  test('says what was received in another order, and what else', async () => {
    const ask = serveRows(CART, ORDER, STATUS);
    const { json } = await ask({
      inOrder: true,
      nothingElse: true,
      expectations: [{ q: 'path:*/orders' }, { q: 'path:*/carts' }],
    });
    expect(json['detail']).toBe(
      `path:*/carts: expected one after ${ORDER.id}, found 1, all received before
  found:
    POST /v1/carts  200  2026-11-28T10:00:01.000000Z  ${CART.id}
expected no other requests, found 1
  found:
    GET /v1/orders/1  200  2026-11-28T10:00:03.000000Z  ${STATUS.id}`,
    );
  });

  test('names no more than a few of many requests', async () => {
    const many = Array.from({ length: 60 }, (_row, index) => row(index, 'GET', `/${'x'.repeat(500)}`));
    const ask = serveRows(...many);
    const { json } = await ask({ expectations: [{ q: 'method:GET', count: { max: 0 } }] });
    expect(json).toMatchObject({ failures: [{ wanted: 'none', count: 60 }] });
    expect(json['detail']).toContain('and 55 more');
    expect(JSON.stringify(json).length).toBeLessThan(10_000);
  });

  test('settles the log before it decides that a request is missing, unless it must not', async () => {
    const memory = memoryLog();
    const ask = serve(memory.log);
    memory.accept(ORDER);
    const never = { expectations: [{ q: 'method:POST', count: { max: 0 } }] };
    expect((await ask({ ...never, settled: false })).status).toBe(200);
    expect((await ask(never)).status).toBe(409);
    memory.accept(CART);
    expect((await ask({ expectations: [{ q: 'path:*/carts' }] })).status).toBe(200);
  });

  test('is an error if the log cannot be settled', async () => {
    const { log } = memoryLog();
    const settle = () => Promise.reject(new SourceError('Unavailable', 'gateway-1 does not respond'));
    const ask = serve({ ...log, settle });
    expect((await ask({ nothingElse: true })).status).toBe(503);
    expect((await ask({ nothingElse: true, settled: false })).status).toBe(200);
  });

  test('ends as soon as it holds, or at the timeout with a maximum', async () => {
    const memory = memoryLog();
    const ask = serve(memory.log);
    const waiting = ask({ expectations: [{ q: 'method:POST' }], timeout: '50s' });
    setTimeout(() => memory.insert(ORDER), 20);
    expect((await waiting).status).toBe(200);
    const atMost = ask({ expectations: [{ q: 'method:POST', count: { max: 1 } }], timeout: '200ms' });
    setTimeout(() => memory.insert(CART), 20);
    expect((await atMost).json).toMatchObject({ failures: [{ wanted: 'at most 1', count: 2 }] });
    expect((await ask({ expectations: [{ q: 'method:PUT' }], timeout: '50ms' })).status).toBe(409);
  });

  test('ends at the timeout if a later request may be out of order', async () => {
    const memory = memoryLog();
    memory.insert(ORDER);
    const expectations = [{ q: 'path:*/orders' }, { q: 'path:*/carts', count: { min: 0 } }];
    const waiting = serve(memory.log)({ inOrder: true, expectations, timeout: '200ms' });
    setTimeout(() => memory.insert(CART), 20);
    expect((await waiting).json).toMatchObject({ failures: [{ kind: 'order', expectation: 1 }] });
  });

  test.each<[string, unknown, string]>([
    ['no expectations', {}, 'expectations must not be empty'],
    ['an unknown field', { expectations: [{ q: '', never: true }] }, 'Unrecognized key'],
    ['min above max', { expectations: [{ q: '', count: { min: 2, max: 1 } }] }, 'min must not be greater than max'],
    ['an empty count', { expectations: [{ q: '', count: {} }] }, 'must have min, max or both'],
    ['a negative number', { expectations: [{ q: '', count: { min: -1 } }] }, 'expectations.0.count.min'],
    ['too many expectations', { expectations: Array(21).fill({ q: '' }) }, 'expectations'],
    ['too many terms', { expectations: Array(3).fill({ q: 'a '.repeat(40) }) }, 'at most 100 conditions'],
    ['a timeout of a year', { nothingElse: true, timeout: '365d' }, 'timeout: must be a duration'],
    [
      'a search with a mistake',
      { expectations: [{ q: '' }, { q: 'metod:GET' }] },
      'expectations.1.q: There is no field',
    ],
    ['a window that ends before it begins', { nothingElse: true, from: '1m', to: '2m' }, 'to: must not be before from'],
  ])('refuses %s', async (_what, body, detail) => {
    const ask = serveRows();
    const { status, json } = await ask(body);
    expect([status, json['detail']]).toEqual([400, expect.stringContaining(detail)]);
  });
});
