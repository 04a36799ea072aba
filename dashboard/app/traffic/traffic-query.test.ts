import { expect, it } from 'vitest';
import { paths } from '../paths.ts';
import { isSameList, readTrafficQuery, trafficParams } from './traffic-query.ts';

const project = { namespace: 'default', project: 'shop' };
const search = (query: string): URLSearchParams => new URLSearchParams(query);

// The URL contains the whole state, so that a reload restores it.
it.each([
  '',
  'q=status%3A5xx',
  'q=body%3A%22a+%26+b%3Dc%22+-endpoint%3Ahealth',
  'from=15m',
  'from=2026-11-21T10%3A00%3A00Z&to=2026-11-21T11%3A00%3A00Z',
  'q=x&from=7d&live=0&sel=01931f3e-0000-7000-8000-000000000001&tab=response',
  'live=0',
  'cols=body+duration+id',
  'live=0&cols=none',
])('"%s" is read and written unchanged', (query) => {
  const url = paths.traffic(project, trafficParams(readTrafficQuery(search(query))));
  expect(url).toBe(`/p/default/shop/traffic${query === '' ? '' : `?${query}`}`);
});

it('a tab without an open request and an invalid range are ignored', () => {
  const url = paths.traffic(project, trafficParams(readTrafficQuery(search('tab=raw&from=soon&live=1'))));
  expect(url).toBe('/p/default/shop/traffic');
});

it.each([
  ['cols=duration+size+endpoint', ''],
  ['cols=id+unknown+body+id', '?cols=body+id'],
  ['cols=', '?cols=none'],
])('the columns of "%s" are written as "%s"', (query, expected) => {
  const url = paths.traffic(project, trafficParams(readTrafficQuery(search(query))));
  expect(url).toBe(`/p/default/shop/traffic${expected}`);
});

it.each([
  ['', 'cols=body+id', true],
  ['q=a&sel=1', 'q=a&sel=2&tab=raw&live=0', true],
  ['q=a', 'q=b', false],
  ['from=1h', 'from=15m', false],
  ['', 'to=2026-11-21T10:00:00Z', false],
])('"%s" and "%s" show the same rows: %s', (a, b, same) => {
  expect(isSameList(search(a), search(b))).toBe(same);
});
