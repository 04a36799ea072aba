import { expect, test } from 'vitest';
import { formatRefused, formatRefusedProjects } from './show-refused.ts';

const EMPTY = { items: [], omitted: 0, missingGateways: [] };
const LAST_AT = '2026-11-23T22:10:11.000Z';

test('without refused requests, the output says so', () => {
  const none = 'No requests were refused within the last hour.';
  expect(formatRefused(EMPTY)).toEqual([none]);
  expect(formatRefused({ ...EMPTY, unknownProject: 1 })).toEqual([
    none,
    '1 request across all gateways did not begin with the URI of a project: compare the URL with that of the endpoint.',
  ]);
});

test('the output has a table, then each reason once, then what is missing', () => {
  const lines = formatRefused({
    items: [
      { code: 'a', title: 'A', detail: 'Do a.', method: 'POST', path: '/x', count: 1_200, lastAt: LAST_AT },
      { code: 'b', title: 'B', detail: 'Do b.', sender: 'GitHub', slug: '/v1/orders', count: 2, lastAt: LAST_AT },
      { code: 'b', title: 'B', detail: 'Do b.', sender: 'other', count: 1, lastAt: LAST_AT },
      { code: 'b', title: 'B', detail: 'Do b.', count: 7, lastAt: LAST_AT },
    ],
    omitted: 5,
    unknownProject: 3,
    missingGateways: ['gateway-1'],
  });
  expect(lines).toEqual([
    'LAST       COUNT  CODE  REQUEST',
    '22:10:11Z  1,200  a     POST /x',
    '22:10:11Z  2      b     sender GitHub, endpoint /v1/orders',
    '22:10:11Z  1      b     unknown sender',
    '22:10:11Z  7      b     various',
    '',
    'a: A. Do a.',
    'b: B. Do b.',
    '',
    '5 more are not listed.',
    '3 requests across all gateways did not begin with the URI of a project: compare the URL with that of the endpoint.',
    'Counts are missing from gateway-1, which did not respond.',
  ]);
});

test('of several projects, the output shows those with refused requests, and what all gateways counted once', () => {
  const items = [
    { code: 'a', status: 401, title: 'A', detail: 'Do a.', method: 'POST', path: '/x', count: 1, lastAt: LAST_AT },
  ];
  const of = (name: string, more: object) => ({
    namespace: 'n',
    name,
    refused: { ...EMPTY, unknownProject: 3, ...more },
  });
  const table = (...more: string[]) => [
    'LAST       COUNT  CODE  REQUEST',
    '22:10:11Z  1      a     POST /x',
    '',
    'a: A. Do a.',
    '',
    ...more,
  ];
  expect(formatRefusedProjects([of('one', { items }), of('none', {}), of('two', { items })])).toEqual([
    ...['Project n/one', ...table()],
    ...[
      'Project n/two',
      ...table(
        '3 requests across all gateways did not begin with the URI of a project: compare the URL with that of the endpoint.',
      ),
    ],
  ]);
  expect(formatRefusedProjects([of('none', {}), of('empty', {})])).toEqual([
    'No requests were refused within the last hour.',
    '3 requests across all gateways did not begin with the URI of a project: compare the URL with that of the endpoint.',
  ]);
});
