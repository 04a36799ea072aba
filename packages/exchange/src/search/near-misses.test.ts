import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EntryPreview } from '../log-entry.ts';
import { testPreview } from '../log-entry.testing.ts';
import { newLogRow } from '../log-row.testing.ts';
import { anyFilter } from './filter.testing.ts';
import { formatFilter } from './format-filter.ts';
import { matchSearch, nearMisses } from './near-misses.ts';
import { parseFilter } from './parse-filter.ts';

const parsed = (text: string) => {
  const result = parseFilter(text);
  if (result.kind === 'invalid') throw new Error(`${text}: ${result.problem.message}`);
  return result;
};

const preview = (changes: Parameters<typeof newLogRow>[0] = {}, rest: Partial<EntryPreview> = {}): EntryPreview => ({
  ...testPreview(newLogRow(changes)),
  ...rest,
});

/** POST /v1/orders?a=1 with the body {"a":1}, and the response 200. */
const order = preview();
const texts = (terms: readonly { readonly text: string }[]): string => terms.map(({ text }) => text).join(' ');

// The integration test of the search compares the result with ClickHouse's.
describe('matchSearch', () => {
  test.each([
    ['', '', ''],
    ['method:POST path:/v1/orders', 'method:POST path:/v1/orders', ''],
    ['method:PUT path:/v1/orders body:"b"', 'path:/v1/orders', 'method:PUT body:b'],
    ['-status:200 path:/v1/*', 'path:/v1/*', '-status:200'],
    ['-status:404', '-status:404', ''],
    ['(method:PUT OR method:PATCH) status:200', 'status:200', 'method:PUT method:PATCH'],
    ['(method:PUT OR method:POST) status:404', 'method:POST', 'status:404'],
    ['method:POST body:x OR status:404', 'method:POST', 'body:x status:404'],
    ['-(method:POST status:200)', '', '-method:POST -status:200'],
    ['-(method:PUT OR status:200)', '-method:PUT', '-status:200'],
    ['NOT NOT method:PUT', '', 'method:PUT'],
  ])('of %j, it meets %j and not %j', (text, met, unmet) => {
    const match = matchSearch(parsed(text), order);
    expect([texts(match.met), texts(match.unmet), texts(match.unknown)]).toEqual([met, unmet, '']);
  });

  test('says where each term is in the text', () => {
    const text = 'path:/v1/orders  ( -method:POST OR NOT (status:2xx orders) )';
    const { unmet } = matchSearch(parsed(text), order);
    expect(unmet.map(({ from, to }) => text.slice(from, to))).toEqual(['-method:POST', 'status:2xx', 'orders']);
  });

  test('does not decide a term by the beginning of a body', () => {
    const cut = preview({ requestBody: Buffer.from('begin') }, { requestBodyBytes: 500 });
    const match = matchSearch(parsed('body:beg body:end -body:end (end OR orders) (end OR method:PUT)'), cut);
    expect(texts(match.met)).toBe('body:beg orders');
    expect(texts(match.unmet)).toBe('');
    expect(texts(match.unknown)).toBe('body:end -body:end end');
  });

  test('reads the text of an encoded body, and knows nothing of one without', () => {
    const requestHeaders = [['Content-Encoding', 'gzip']] as const;
    const requestText = { text: 'Café', isCut: false };
    const decoded = preview({ requestHeaders }, { requestText });
    expect(texts(matchSearch(parsed('body:café body:a'), decoded).met)).toBe('body:café body:a');
    expect(texts(matchSearch(parsed('body:a'), preview({ requestHeaders })).unknown)).toBe('body:a');
  });

  test('puts each term of any search in at most one list', () => {
    fc.assert(
      fc.property(anyFilter, (filter) => {
        const search = parsed(formatFilter(filter));
        const { met, unmet, unknown } = matchSearch(search, order);
        const places = [...met, ...unmet, ...unknown].map(({ from, to }) => `${from}-${to}`);
        expect(new Set(places).size).toBe(places.length);
        const known = search.terms.map(({ from, to }) => `${from}-${to}`);
        expect(places.filter((place) => !known.includes(place))).toEqual([]);
      }),
    );
  });
});

test('the nearest misses fail the fewest terms, and are not matches', async () => {
  const requests = [
    preview({ path: '/far', method: 'GET' }),
    preview({ path: '/v1/orders', method: 'PUT' }),
    order,
    preview({ path: '/v1/refunds' }),
  ];
  const search = parsed('path:/v1/orders method:POST');
  const found = await nearMisses(search, requests, 2);
  expect(found.map(({ request, unmet }) => [request.entry.path, texts(unmet)])).toEqual([
    ['/v1/orders', 'method:POST'],
    ['/v1/refunds', 'path:/v1/orders'],
  ]);
});
