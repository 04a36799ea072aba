import { toLogSummary } from '@standin/exchange';
import { testPreview } from '@standin/exchange/entry-testing';
import { parseFilter } from '@standin/exchange/search';
import { newLogRow } from '@standin/exchange/testing';
import { expect, test } from 'vitest';
import { findNearMisses } from './find-near-misses.ts';

const AT_US = Date.UTC(2026, 10, 28) * 1_000;

test('a request that may match beyond the part of its body that was read is no near miss, and no condition is named twice', async () => {
  const rows = [
    newLogRow({ receivedAtUs: AT_US, path: '/a', requestBody: Buffer.from('x'.repeat(100)) }),
    newLogRow({ receivedAtUs: AT_US, path: '/b', requestBody: Buffer.from('x'.repeat(100)) }),
  ];
  const preview = (id: string) =>
    Promise.resolve(rows.filter((row) => row.id === id).map((row) => testPreview(row, 10))[0]);
  const search = parseFilter('path:/a path:/a body:end');
  if (search.kind === 'invalid') throw new Error(search.problem.message);
  const range = { fromUs: AT_US, untilUs: AT_US + 1 };
  const filter = { projectUid: 'uid', namespace: 'default', project: 'shop', sinceUs: AT_US, untilUs: AT_US + 1 };
  const summaries = () =>
    Promise.resolve(rows.map((row) => ({ ...toLogSummary(row), bodyBytes: 100, insertedAtMs: 0 })));
  const [found] = await findNearMisses({ summaries, preview }, [
    { kind: 'ready', range, filter, search, searchLength: 0, expected: { min: 2, max: Infinity }, project: undefined },
  ] as unknown as Parameters<typeof findNearMisses>[1]);
  expect(found).toEqual([{ requestId: rows[1]?.id, failed: ['path:/a'] }]);
});
