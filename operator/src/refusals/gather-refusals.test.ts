import { LIMITS, type RefusalCount, type Refusals } from '@standin/contract';
import { expect, test } from 'vitest';
import { RefusalGatherer } from './gather-refusals.ts';

const refusals = (counts: readonly RefusalCount[], more: Partial<Refusals> = {}): Refusals => ({
  counts,
  omitted: 0,
  unknownProject: 0,
  ...more,
});
const notFound = (path: string, count: number, lastAt: number): RefusalCount => ({
  code: 'endpoint_not_found',
  method: 'POST',
  path,
  count,
  lastAt,
});

const gathererWith = (gateways: readonly string[], waitMs = 5_000) => {
  const asked: { ask: string; project: string }[] = [];
  const known = [...gateways.map((name) => ({ name, connected: true })), { name: 'stopped', connected: false }];
  const log = { announce: (ask: { ask: string; project: string }) => asked.push(ask) };
  const gatherer = new RefusalGatherer({ gateways: { known }, log, waitMs });
  const report = (gateway: string, given: Refusals, ask = asked.at(-1)?.ask ?? ''): void =>
    gatherer.report({ gateway, instance: 'i', ask, refusals: given });
  return { gatherer, asked, report };
};

test('the counts of all gateways are merged, the most recent first', async () => {
  const { gatherer, asked, report } = gathererWith(['a', 'b']);
  const read = gatherer.gather('uid');
  expect(asked).toMatchObject([{ type: 'refusals', project: 'uid' }]);
  const signed: RefusalCount = { code: 'api_key_missing', sender: 'GitHub', count: 1, lastAt: 30 };
  report('a', refusals([notFound('/x', 2, 10), signed], { omitted: 1 }));
  report('b', refusals([notFound('/x', 3, 20), notFound('/y', 1, 40)], { unknownProject: 7 }));
  expect(await read).toEqual({
    omitted: 1,
    unknownProject: 7,
    missing: [],
    counts: [notFound('/y', 1, 40), signed, notFound('/x', 5, 20)],
  });
});

test('a gateway that does not report in time is named', async () => {
  const { gatherer, report } = gathererWith(['a', 'old'], 20);
  const read = gatherer.gather('uid');
  report('a', refusals([notFound('/x', 1, 1)]));
  expect(await read).toMatchObject({ counts: [{ path: '/x' }], missing: ['old'] });
});

test('a repeated, late or unexpected report counts nothing', async () => {
  const { gatherer, asked, report } = gathererWith(['a', 'b'], 20);
  const read = gatherer.gather('uid');
  report('a', refusals([notFound('/x', 1, 1)]));
  report('a', refusals([notFound('/x', 1, 1)]));
  report('stranger', refusals([notFound('/x', 1, 1)]));
  report('b', refusals([notFound('/x', 1, 1)]), 'another');
  expect(await read).toMatchObject({ counts: [{ count: 1 }], missing: ['b'] });
  report('b', refusals([notFound('/x', 1, 1)]), asked[0]?.ask);
  expect(asked).toHaveLength(1);
});

test('without gateways, nothing was refused', async () => {
  expect(await gathererWith([]).gatherer.gather('uid')).toEqual({ ...refusals([]), missing: [] });
});

test('reads of one project share a question, and the number of reads is bounded', async () => {
  const { gatherer, asked } = gathererWith(['a'], 20);
  const reads = Array.from({ length: LIMITS.refusalReadsMax }, (_, index) => gatherer.gather(`uid-${index}`));
  expect(gatherer.gather('uid-0')).toBe(reads[0]);
  await expect(gatherer.gather('another')).rejects.toThrow('too many reads');
  await Promise.all(reads);
  expect(asked).toHaveLength(LIMITS.refusalReadsMax);
  expect(await gatherer.gather('another')).toMatchObject({ missing: ['a'] });
});

test('merged counts are limited, and the rest is added up', async () => {
  const { gatherer, report } = gathererWith(['a', 'b']);
  const read = gatherer.gather('uid');
  const many = (start: string) =>
    Array.from({ length: LIMITS.refusalsReportedMax }, (_, index) => notFound(`${start}${index}`, 2, index));
  report('a', refusals(many('/a')));
  report('b', refusals(many('/b'), { omitted: 5 }));
  const { counts, omitted } = await read;
  expect([counts.length, omitted]).toEqual([LIMITS.refusalsReportedMax, 2 * LIMITS.refusalsReportedMax + 5]);
});
