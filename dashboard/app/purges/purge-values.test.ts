import { describe, expect, it, test } from 'vitest';
import { isEmpty, readPurgeValues, toNewPurge } from './purge-values.ts';

const NOW = '2026-11-21T12:00:00.000Z';
const now = new Date(NOW);
const read = (query: string) => readPurgeValues(new URLSearchParams(query), now);

describe('the fields of a purge', () => {
  it('have fixed times, and keep what is not a time', () => {
    expect(read('q=+a+&from=1h&to=2026-11-21T12:30:00%2B01:00')).toEqual({
      q: 'a',
      from: '2026-11-21T11:00:00Z',
      to: '2026-11-21T11:30:00Z',
      requests: '',
    });
    expect(read('from=yesterday')).toMatchObject({ from: 'yesterday', to: '' });
  });

  test.each([
    ['', true],
    ['q=+&from=', true],
    ['q=a', false],
    ['to=1h', false],
    ['requests=All', false],
  ])('"%s" select nothing: %j', (query, empty) => {
    expect(isEmpty(read(query))).toBe(empty);
  });
});

test.each([
  ['q=a&from=1h', { filter: { search: 'a', from: '2026-11-21T11:00:00Z', to: NOW }, reason: 'why' }],
  ['q=a&to=1h', { filter: { search: 'a', to: '2026-11-21T11:00:00Z' }, reason: 'why' }],
  ['q=a&requests=All', { filter: { to: NOW }, requests: 'All', reason: 'why' }],
  // The form hides these fields if all requests are selected.
  ['from=no+time&to=no+time&requests=All', { filter: { to: NOW }, requests: 'All', reason: 'why' }],
  ['to=1h&requests=All', { filter: { to: NOW }, requests: 'All', reason: 'why' }],
  // The API server rejects these purges.
  ['to=1h', { filter: { to: '2026-11-21T11:00:00Z' }, reason: 'why' }],
  ['requests=all', { filter: { to: NOW }, requests: 'all', reason: 'why' }],
])('"%s" is the purge %j', (query, purge) => {
  expect(toNewPurge(read(query), 'why', now)).toEqual(purge);
});
