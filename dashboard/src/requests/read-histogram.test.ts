import type { HistogramRange } from '@standin/logstore';
import { parseFilter } from '@standin/exchange/search';
import { describe, expect, it } from 'vitest';
import type { ProjectLog } from '../backend.ts';
import { readHistogram } from './read-histogram.ts';

const now = new Date('2026-11-21T12:00:00Z');
const since = new Date('2026-11-11T12:00:00Z');

/** A log of this many entries. An eighth of them match any search. */
const logOf = (total: number) => {
  const asked: (number | undefined)[] = [];
  const log: Pick<ProjectLog, 'count' | 'histogram'> = {
    count: () => Promise.resolve(total),
    histogram: (_filter, { from, oneIn }: HistogramRange) => {
      asked.push(oneIn);
      const counts = { none: 0, '1xx': 0, '2xx': total / 8, '3xx': 0, '4xx': 0, '5xx': 0 };
      return Promise.resolve([{ start: from, counts }]);
    },
  };
  return { log: log as ProjectLog, asked };
};

const searchOf = (text: string) => {
  const result = parseFilter(text);
  if (result.kind === 'invalid') throw new Error(result.problem.message);
  return result.filter;
};

describe('the histogram of a search', () => {
  it.each([
    ['that reads bodies of ten million', 'body:refund', 10_000_000, 20],
    ['for a text anywhere', '-(status:500 OR refund)', 10_000_000, 20],
    ['that reads headers', 'header.x-id:1', 600_000, 2],
    ['in few requests', 'body:refund', 400_000, 1],
    ['that reads neither', 'status:5xx path:/a*', 10_000_000, 1],
  ])('%s is estimated only if it is slow', async (_what, text, total, oneIn) => {
    const { log, asked } = logOf(total);
    const filter = { since, search: searchOf(text) };
    const view = await readHistogram(log, filter, now, { mayEstimate: true });
    expect(asked).toEqual([oneIn]);
    expect(view).toMatchObject({ matched: total / 8, total, isEstimate: oneIn > 1 });
    expect(await readHistogram(log, filter, now, { mayEstimate: false })).toMatchObject({ isEstimate: false });
    expect(asked).toEqual([oneIn, 1]);
  });
});
