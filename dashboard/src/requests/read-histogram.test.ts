import type { HistogramRange } from '@standin/logstore';
import { parseFilter } from '@standin/exchange/search';
import { describe, expect, it } from 'vitest';
import type { ProjectLog } from '../backend.ts';
import { readHistogram } from './read-histogram.ts';

const now = new Date('2026-11-21T12:00:00Z');
const since = new Date('2026-11-11T12:00:00Z');

/** Returns a log with this many entries. One in eight matches any search. */
const testLog = (total: number) => {
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

const parsedSearch = (text: string) => {
  const result = parseFilter(text);
  if (result.kind === 'invalid') throw new Error(result.problem.message);
  return result.filter;
};

describe('a search histogram', () => {
  it.each([
    ['bodies of ten million requests', 'body:refund', 10_000_000, 20],
    ['text anywhere in ten million requests', '-(status:500 OR refund)', 10_000_000, 20],
    ['headers', 'header.x-id:1', 600_000, 2],
    ['bodies of few requests', 'body:refund', 400_000, 1],
    ['neither bodies nor headers', 'status:5xx path:/a*', 10_000_000, 1],
  ])('is estimated only if reading is slow: %s', async (_what, text, total, oneIn) => {
    const { log, asked } = testLog(total);
    const filter = { sinceUs: since.getTime() * 1_000, search: parsedSearch(text) };
    const view = await readHistogram(log, filter, now, { mayEstimate: true });
    expect(asked).toEqual([oneIn]);
    expect(view).toMatchObject({ matched: total / 8, total, isEstimate: oneIn > 1 });
    expect(await readHistogram(log, filter, now, { mayEstimate: false })).toMatchObject({ isEstimate: false });
    expect(asked).toEqual([oneIn, 1]);
  });
});
