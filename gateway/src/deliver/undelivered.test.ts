import { LIMITS } from '@standin/contract';
import { expect, test } from 'vitest';
import type { OldestRequests } from '../request/oldest-requests.ts';
import { undeliveredOf } from './undelivered.ts';

const NOW_MS = 1_000_000;
/** A part of the gateway with requests of these ages, in milliseconds. */
const holder = (...requests: (readonly [ageMs: number, projectUid?: string])[]) => ({
  addOldest: (to: OldestRequests) => {
    for (const [ageMs, projectUid] of requests) to.add(NOW_MS - ageMs, projectUid);
  },
});
const report = (holders: Parameters<typeof undeliveredOf>[0], ...quarantined: (string | undefined)[]) =>
  undeliveredOf(holders, new Set(quarantined), NOW_MS);
const named = (uid: string, ageMs: number, hasQuarantine = false) => ({ uid, ageMs, hasQuarantine });

test('without requests, everything is delivered', () => {
  expect(report([holder(), holder()])).toEqual({ ageMs: 0, hasQuarantine: false, projects: [] });
});

test('a project is named with its oldest request if that takes longer than usual', () => {
  const holders = [holder([100, 'quick'], [5_000, 'slow']), holder([90_000.4, 'slow'], [200, 'quick'], [50])];
  expect(report(holders)).toEqual({ ageMs: 200, hasQuarantine: false, projects: [named('slow', 90_001)] });
});

test('a request whose project is unknown counts for every project', () => {
  const holders = [holder([7_000], [5_000, 'younger'], [9_000, 'older'])];
  const projects = [named('older', 9_000), named('younger', 7_000)];
  expect(report(holders)).toEqual({ ageMs: 7_000, hasQuarantine: false, projects });
});

test('a request of unknown age makes the report unknown', () => {
  expect(report([holder([9_000, 'slow'], [Infinity])])).toBeUndefined();
});

test('a project with files in quarantine is named, unless it is unknown whose they are', () => {
  expect(report([holder([100, 'quick'])], 'bad')).toEqual({
    ageMs: 100,
    hasQuarantine: false,
    projects: [named('bad', 100, true)],
  });
  expect(report([], undefined)).toEqual({ ageMs: 0, hasQuarantine: true, projects: [] });
});

test('of too many projects, those with the oldest requests are named, and the others share the age of their oldest', () => {
  const max = LIMITS.undeliveredProjectsMax;
  const all = Array.from({ length: max + 2 }, (_, n) => [10_000 + n, `p${n}`] as const);
  const { ageMs, projects = [] } = report([holder(...all)]) ?? {};
  expect([ageMs, projects.length, projects[0], projects.at(-1)]).toEqual([
    10_001,
    max,
    named(`p${max + 1}`, 10_000 + max + 1),
    named('p2', 10_002),
  ]);
  const { hasQuarantine } = report([], ...all.map(([, uid]) => uid)) ?? {};
  expect(hasQuarantine).toBe(true);
});
