import { expect, it } from 'vitest';
import { filterByCell, searchTerms, withoutTerm } from './filter-terms.ts';
import type { TrafficRow } from '../requests/traffic-row.ts';

const row: TrafficRow = {
  id: '00000000-0000-7000-8000-000000000001',
  receivedAt: '2026-11-21T10:00:00.000000Z',
  method: 'POST',
  path: '/v1/a b*"(x)',
  query: '',
  status: 503,
  durationMs: 12.5,
  bodyBytes: 4_000,
  endpoint: 'create-order',
  outcome: 'mocked',
  responseName: '',
};

it.each([
  ['', 'method', false, 'method:POST'],
  ['status:5xx', 'method', false, 'status:5xx method:POST'],
  ['status:5xx', 'endpoint', true, 'status:5xx -endpoint:create-order'],
  ['status:503', 'status', true, '-status:503'],
  ['-method:POST', 'method', false, 'method:POST'],
  ['method:POST', 'method', false, 'method:POST'],
  ['a OR b', 'status', false, '(a OR b) status:503'],
  ['', 'path', false, String.raw`path:"/v1/a b\*\"(x)"`],
  ['', 'duration', false, 'dur:>=12500us'],
  ['', 'size', true, '-size:>=4kb'],
  ['status:5xx', 'time', false, 'status:5xx'],
  // A search that cannot be parsed is replaced.
  ['status:', 'method', false, 'method:POST'],
] as const)('"%s" filtered by the %s of a row (exclude: %s) becomes "%s"', (q, field, isOut, filtered) => {
  expect(filterByCell(q, row, field, isOut)).toBe(filtered);
});

it('a request without a response is filtered by status:none', () => {
  expect(filterByCell('', { ...row, status: 0 }, 'status', false)).toBe('status:none');
});

it('removes one condition from a search', () => {
  const q = 'status:5xx (a OR b) -endpoint:health';
  expect(searchTerms(q)).toEqual(['status:5xx', 'a OR b', '-endpoint:health']);
  expect(withoutTerm(q, 1)).toBe('status:5xx -endpoint:health');
  expect(withoutTerm('status:5xx', 0)).toBe('');
  expect(searchTerms('"')).toEqual([]);
});
