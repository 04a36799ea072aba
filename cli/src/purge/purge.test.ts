import type { PurgeStatus } from '@standin/crds';
import { describe, expect, it, test } from 'vitest';
import { purgeRequest, type SelectOptions } from './purge-request.ts';
import { formatProgress } from './run-purge.ts';

describe('the options of a purge', () => {
  const since = new Date('2026-11-21T09:00:00Z');
  const until = new Date('2026-11-21T10:00:00Z');
  const now = new Date('2026-11-21T12:00:00Z');
  const given = (options: Partial<SelectOptions>) => purgeRequest({ all: false, reason: 'a leak', ...options }, now);

  it('select requests by search and time range, or all of them', () => {
    expect(given({ filter: 'path:/a', since, until })).toEqual({
      filter: { search: 'path:/a', from: '2026-11-21T09:00:00.000Z', to: '2026-11-21T10:00:00.000Z' },
      reason: 'a leak',
    });
    expect(given({ since })).toMatchObject({ filter: { to: '2026-11-21T12:00:00.000Z' } });
    expect(given({ all: true, until })).toEqual({
      ...{ filter: { to: '2026-11-21T10:00:00.000Z' }, requests: 'All', reason: 'a leak' },
    });
  });

  it('are refused if they select nothing, or contradict each other', () => {
    for (const options of [{}, { until }])
      expect(() => given(options)).toThrow('select requests with --filter or --since, or all requests with --all');
    expect(() => given({ all: true, since })).toThrow('--all selects all requests');
  });
});

const reconciling = (message: string): NonNullable<PurgeStatus['conditions']> => [
  { type: 'Reconciling', status: 'True', reason: 'Running', message, lastTransitionTime: '2026-11-21T12:00:00Z' },
];

test.each<[PurgeStatus, string]>([
  [{}, 'Pending: the operator has not processed it yet'],
  [{ phase: 'Running', conditions: reconciling('Deleting 3 requests.') }, 'Deleting 3 requests.'],
  [
    { phase: 'Waiting', waitingFor: ['gateway a', 'volume b'], conditions: reconciling('shortened') },
    'Waiting for gateway a; and volume b',
  ],
])('progress: %j', (status, text) => {
  expect(formatProgress(status)).toBe(text);
});
