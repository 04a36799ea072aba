import type { Undelivered } from '@standin/contract';
import { beforeEach, expect, test } from 'vitest';
import { GatewayStates } from './gateway-states.ts';

/** How long before an acknowledgement its last heartbeat was sent. */
const HEARTBEAT_AGE_MS = 1_500;
let now: number;
let states: GatewayStates;

beforeEach(() => {
  now = 0;
  states = new GatewayStates({ epoch: 3, forgetMs: 20_000 });
});

const pass = (ms: number): void => void (now += ms);
const join = (name: string): void => {
  states.connected({ name, maxStalenessMs: 0 }, `${name}-1`, () => undefined, now);
};
/** Acknowledges a revision, and reports the requests that are not in the log. Without an age, they are unknown. */
const report = (gateway: string, ageMs?: number, more: Partial<Undelivered> = {}): void => {
  const undelivered = ageMs === undefined ? undefined : { ageMs, hasQuarantine: false, projects: [], ...more };
  const heartbeatMs = now - HEARTBEAT_AGE_MS;
  const acked = { gateway, instance: `${gateway}-1`, revision: '3.1', rejected: [], undelivered, heartbeatMs };
  states.acknowledged(acked, now);
};
const deliveredUpTo = (projectUid: string, namespace = 'a'): number => states.deliveredUpTo({ projectUid, namespace });
const undelivered = (before: number, projectUid = 'p', namespace = 'a'): readonly string[] =>
  states.undelivered({ projectUid, namespace, before });

test('what gateways have delivered is known for each project, so that a running request holds up only its own project', () => {
  join('a');
  join('b');
  pass(100_000);
  report('b', 0);
  report('a', 1_000, { projects: [{ uid: 'q', ageMs: 90_000, hasQuarantine: false }] });
  expect([deliveredUpTo('p'), deliveredUpTo('q')]).toEqual([99_000 - HEARTBEAT_AGE_MS, 10_000 - HEARTBEAT_AGE_MS]);
  const before = 50_000;
  expect(undelivered(before)).toEqual([]);
  expect(undelivered(before, 'q')).toEqual(['gateway a']);
  pass(2_000);
  report('a', 0);
  expect([deliveredUpTo('p'), deliveredUpTo('q')]).toEqual([100_000 - HEARTBEAT_AGE_MS, 100_000 - HEARTBEAT_AGE_MS]);
});

test('what is delivered of a project does not decrease, and never passes what was reported for it', () => {
  join('a');
  pass(100_000);
  report('a', 0);
  // A request of q was received 30 seconds after that report.
  pass(100_000);
  report('a', 0, { projects: [{ uid: 'q', ageMs: 70_000, hasQuarantine: false }] });
  expect([deliveredUpTo('p'), deliveredUpTo('q')]).toEqual([200_000 - HEARTBEAT_AGE_MS, 130_000 - HEARTBEAT_AGE_MS]);
  // This report took longer to arrive. It no longer names q, so it says less about p than the one before, but more about q.
  report('a', 20_000);
  expect([deliveredUpTo('p'), deliveredUpTo('q')]).toEqual([200_000 - HEARTBEAT_AGE_MS, 180_000 - HEARTBEAT_AGE_MS]);
  report('a', 0, { projects: [{ uid: 'q', ageMs: 100_000, hasQuarantine: false }] });
  expect(deliveredUpTo('q')).toBe(180_000 - HEARTBEAT_AGE_MS);
  report('a');
  expect([deliveredUpTo('p'), deliveredUpTo('q')]).toEqual([200_000 - HEARTBEAT_AGE_MS, 180_000 - HEARTBEAT_AGE_MS]);
});

test('what is delivered leaves out the files in quarantine, which hold up only their own projects', () => {
  join('a');
  pass(10_000);
  report('a', 0, { projects: [{ uid: 'q', ageMs: 0, hasQuarantine: true }] });
  expect(undelivered(0)).toEqual([]);
  expect(undelivered(0, 'q')).toEqual(['gateway a, which has files in quarantine']);
});

test('a namespace with too many projects to name holds up only its own projects', () => {
  const crowded = (ageMs: number, hasQuarantine = false) => ({
    namespaces: [{ namespace: 'crowded', ageMs, hasQuarantine }],
  });
  join('a');
  pass(100_000);
  report('a', 1_000, { projects: [{ uid: 'q', ageMs: 90_000, hasQuarantine: false }], ...crowded(80_000) });
  expect([deliveredUpTo('p'), deliveredUpTo('q', 'crowded'), deliveredUpTo('r', 'crowded')]).toEqual([
    99_000 - HEARTBEAT_AGE_MS,
    10_000 - HEARTBEAT_AGE_MS,
    20_000 - HEARTBEAT_AGE_MS,
  ]);
  expect([undelivered(50_000), undelivered(50_000, 'r', 'crowded')]).toEqual([[], ['gateway a']]);
  // q still has its request, but other projects of the namespace are named.
  report('a', 1_000, crowded(95_000, true));
  expect([deliveredUpTo('p'), deliveredUpTo('q', 'crowded')]).toEqual([
    99_000 - HEARTBEAT_AGE_MS,
    5_000 - HEARTBEAT_AGE_MS,
  ]);
  expect(undelivered(0, 'r', 'crowded')).toEqual(['gateway a, which has files in quarantine']);
  // A report that took longer to arrive says nothing about requests that were received after it.
  report('a', 60_000);
  expect([deliveredUpTo('p'), deliveredUpTo('r', 'crowded')]).toEqual([
    99_000 - HEARTBEAT_AGE_MS,
    40_000 - HEARTBEAT_AGE_MS,
  ]);
  pass(10_000);
  report('a', 0);
  expect([deliveredUpTo('p'), deliveredUpTo('r', 'crowded')]).toEqual([
    110_000 - HEARTBEAT_AGE_MS,
    110_000 - HEARTBEAT_AGE_MS,
  ]);
});
