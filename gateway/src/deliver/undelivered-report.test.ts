import { LIMITS } from '@standin/contract';
import { describe, expect, test } from 'vitest';
import type { OldestRequests } from '../request/oldest-requests.ts';
import { undeliveredReport } from './undelivered-report.ts';

const NOW_MS = 1_000_000;
/** A part of the gateway with requests of these ages, in milliseconds. */
const holder = (...requests: (readonly [ageMs: number, projectUid?: string, namespace?: string])[]) => ({
  addOldest: (to: OldestRequests) => {
    for (const [ageMs, projectUid, namespace] of requests) to.add(NOW_MS - ageMs, projectUid, namespace);
  },
});
const report = (holders: Parameters<typeof undeliveredReport>[0], ...quarantined: (string | undefined)[]) =>
  undeliveredReport(holders, new Map(quarantined.map((uid) => [uid, 'a'])), NOW_MS);
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

describe('of too many projects', () => {
  const max = LIMITS.undeliveredProjectsMax;
  const crowd = Array.from({ length: max }, (_, n) => [10_000 + n, `p${n}`, 'crowded'] as const);

  test('all of one namespace are named', () => {
    const { ageMs, projects = [], namespaces } = report([holder(...crowd, [500, 'quick', 'a'])]) ?? {};
    expect([ageMs, projects.length, namespaces]).toEqual([500, max, undefined]);
  });

  test('a namespace has a share of the names, and its other projects share the age of their oldest request', () => {
    const { ageMs, projects = [], namespaces } = report([holder(...crowd, [2_000, 'other', 'a'])]) ?? {};
    expect([ageMs, namespaces]).toEqual([
      0,
      [{ namespace: 'crowded', ageMs: 10_000 + max / 2 - 1, hasQuarantine: false }],
    ]);
    expect([projects.length, projects[0], projects.at(-1)]).toEqual([
      max / 2 + 1,
      named(`p${max - 1}`, 10_000 + max - 1),
      named('other', 2_000),
    ]);
  });

  test('those with files in quarantine count towards the share of their namespace', () => {
    const files = crowd.map(([, uid]) => uid);
    const { hasQuarantine, namespaces } = report([holder([2_000, 'other', 'b'])], ...files) ?? {};
    expect([hasQuarantine, namespaces]).toEqual([false, [{ namespace: 'a', ageMs: 0, hasQuarantine: true }]]);
  });
});
