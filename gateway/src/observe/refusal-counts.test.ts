import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LIMITS } from '@standin/contract';
import { cpuMs } from '@standin/contract/testing';
import { expect, test } from 'vitest';
import { RefusalCounts, type RefusedRequest } from './refusal-counts.ts';

const MINUTE_MS = 60_000;

const notFound = (where: string, project = 'shop'): RefusedRequest => ({
  namespace: `of-${project}`,
  code: 'endpoint_not_found',
  project,
  isCallerKnown: true,
  who: 'POST',
  where,
});
const withoutKey = (project: string, where = ''): RefusedRequest => ({
  namespace: project === '' ? '' : `of-${project}`,
  code: 'api_key_missing',
  project,
  isCallerKnown: false,
  who: 'GitHub',
  where,
});

const at = (uptimeMs: number) => {
  const clock = { uptimeMs };
  return { clock, counts: new RefusalCounts({ uptimeMs: () => clock.uptimeMs }) };
};
const total = ({ counts }: ReturnType<RefusalCounts['report']>): number =>
  counts.reduce((sum, { count }) => sum + count, 0);

test('a report has the counts of one project, the most recent first', () => {
  const { clock, counts } = at(5 * MINUTE_MS);
  counts.add(notFound('/v1/order'));
  counts.add(notFound('/v1/order'));
  clock.uptimeMs += 1_500;
  counts.add(withoutKey('shop', '/v1/orders'));
  counts.add(withoutKey('other'));
  counts.add({ ...withoutKey(''), code: 'project_not_found' });
  const now = Date.now();
  const report = counts.report('shop');
  expect(report).toMatchObject({
    counts: [
      { code: 'api_key_missing', sender: 'GitHub', slug: '/v1/orders', count: 1 },
      { code: 'endpoint_not_found', method: 'POST', path: '/v1/order', count: 2 },
    ],
    omitted: 0,
    unknownProject: 1,
  });
  expect(report.counts[0]).not.toHaveProperty('path');
  expect(report.counts[1]).not.toHaveProperty('sender');
  expect(Math.abs((report.counts[0]?.lastAt ?? 0) - now)).toBeLessThan(1_000);
  expect((report.counts[0]?.lastAt ?? 0) - (report.counts[1]?.lastAt ?? 0)).toBe(1_500);
});

test('a request counts for 59 minutes, and after an hour nothing is left', () => {
  const { clock, counts } = at(0);
  counts.add(notFound('/a'));
  clock.uptimeMs = 30 * MINUTE_MS;
  counts.add(notFound('/a'));
  expect(total(counts.report('shop'))).toBe(2);
  clock.uptimeMs = 60 * MINUTE_MS;
  expect(total(counts.report('shop'))).toBe(1);
  counts.add(notFound('/a'));
  expect(total(counts.report('shop'))).toBe(2);
  clock.uptimeMs = 119 * MINUTE_MS;
  expect(total(counts.report('shop'))).toBe(1);
  clock.uptimeMs = 120 * MINUTE_MS;
  counts.sweep();
  expect(counts.size).toBe(0);
  expect(counts.report('shop').counts).toEqual([]);
});

test('a row that is used again begins at 0', () => {
  const { clock, counts } = at(0);
  for (let index = 0; index < 5; index++) counts.add(notFound('/a'));
  clock.uptimeMs = 61 * MINUTE_MS;
  counts.sweep();
  counts.add(notFound('/b'));
  expect(counts.report('shop').counts).toMatchObject([{ path: '/b', count: 1 }]);
});

test('a forgotten request is counted again', () => {
  const { clock, counts } = at(0);
  counts.add(notFound('/a'));
  clock.uptimeMs = 61 * MINUTE_MS;
  counts.sweep();
  counts.add(notFound('/a'));
  expect(counts.report('shop').counts).toMatchObject([{ path: '/a', count: 1 }]);
});

test('consecutive requests that differ in one field have counts of their own', () => {
  const { counts } = at(0);
  const first = notFound('/ab');
  const others: RefusedRequest[] = [
    { ...first, where: '/b' },
    { ...first, where: '/a/ab' },
    { ...first, who: 'PUT' },
    { ...first, code: 'rate_limited' },
  ];
  for (const other of others) for (const request of [first, other]) counts.add(request);
  counts.add({ ...first, project: 'other' });
  expect(counts.size).toBe(6);
  expect(total(counts.report('shop'))).toBe(8);
});

test('a path is cut off', () => {
  const { counts } = at(0);
  for (const end of ['a', 'b']) counts.add(notFound(`/${'x'.repeat(LIMITS.refusalPathLengthMax)}${end}`));
  const [only] = counts.report('shop').counts;
  expect(only).toMatchObject({ count: 2, path: `/${'x'.repeat(LIMITS.refusalPathLengthMax - 1)}` });
});

test('a report is limited, and counts what it omits', () => {
  const { counts } = at(0);
  for (let index = 0; index < LIMITS.refusalsReportedMax + 7; index++) counts.add(notFound(`/${index}`));
  const report = counts.report('shop');
  expect([report.counts.length, report.omitted]).toEqual([LIMITS.refusalsReportedMax, 7]);
});

test('the callers of one project do not displace the counts of another', () => {
  const { clock, counts } = at(0);
  for (let index = 0; index < 50_000; index++, clock.uptimeMs++) counts.add(notFound(`/${index}`, 'noisy'));
  counts.add(notFound('/quiet'));
  expect(counts.report('shop').counts).toMatchObject([{ path: '/quiet', count: 1 }]);
  const noisy = counts.report('noisy');
  expect(total(noisy) + noisy.omitted).toBe(50_000);
  expect(noisy.counts.find(({ path }) => path === undefined)).toMatchObject({
    code: 'endpoint_not_found',
    count: 50_000 - LIMITS.refusalsPerProjectMax,
  });
  expect(counts.size).toBeLessThanOrEqual(LIMITS.refusalsPerProjectMax + 2);
});

test('the projects of one namespace do not displace the counts of another', () => {
  const { clock, counts } = at(0);
  const projects = 2 * Math.ceil(LIMITS.refusalsKeptMax / LIMITS.refusalsPerProjectMax);
  const theirs = (count: number): void => {
    for (let index = 0; index < count; index++)
      counts.add({ ...notFound(`/${index}`, `noisy-${index % projects}`), namespace: 'noisy' });
  };
  theirs(2 * LIMITS.refusalsKeptMax);
  expect(counts.size).toBeLessThanOrEqual(LIMITS.refusalsKeptMax / 2 + 1);
  counts.add(notFound('/quiet'));
  expect(counts.report('shop').counts).toMatchObject([{ path: '/quiet', count: 1 }]);
  // An hour later, the namespace can be counted in detail again.
  clock.uptimeMs = 61 * MINUTE_MS;
  counts.add({ ...notFound('/new', 'noisy-0'), namespace: 'noisy' });
  expect(counts.report('noisy-0').counts).toMatchObject([{ path: '/new', count: 1 }]);
});

/** Runs the garbage collector, so that heap sizes can be compared. */
const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
};
const memoryBytes = (): number => {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

test('hostile paths of many projects take at most 10 MiB', () => {
  const before = memoryBytes();
  const { counts } = at(0);
  const filler = 'x'.repeat(8_000);
  // Each path is a part of a longer target, as it is in the gateway.
  for (let index = 0; index < 40_000; index++) {
    const target = `/${index}${filler}?${index}`;
    counts.add(notFound(target.slice(0, -7), `00000000-0000-4000-8000-${String(index % 20_000).padStart(12, '0')}`));
  }
  const bytes = memoryBytes() - before;
  expect(counts.size).toBeGreaterThan(LIMITS.refusalsKeptMax - 100);
  expect(counts.size).toBeLessThanOrEqual(LIMITS.refusalsKeptMax);
  expect(bytes).toBeLessThan(10 * 1024 * 1024);
  expect(counts.report('none').unknownProject).toBeGreaterThan(25_000);
});

test('different paths are counted in less than 2 µs each', () => {
  const { counts } = at(0);
  const paths = Array.from({ length: 1_000 }, (_, index) => `/${index}/${'y'.repeat(200)}`);
  const one = (index: number): void => counts.add(notFound(`${paths[index % 1_000] ?? ''}${index}`));
  for (let index = 0; index < 20_000; index++) one(index);
  const all = (): void => {
    for (let index = 0; index < 200_000; index++) one(index);
  };
  expect(cpuMs(all, 400)).toBeLessThan(400);
  expect(counts.size).toBeLessThanOrEqual(LIMITS.refusalsPerProjectMax + 1);
});
