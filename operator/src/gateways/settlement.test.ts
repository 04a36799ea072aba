import { setImmediate as endOfTurn, setTimeout as delay } from 'node:timers/promises';
import { LIMITS, type SettledProject } from '@standin/contract';
import { expect, test, vi } from 'vitest';
import { GatewaySettlement } from './settlement.ts';

const PROJECT = { uid: 'u', namespace: 'team-a' };
const NEVER = new AbortController().signal;

interface Asked {
  readonly ask: string;
  readonly projects: readonly string[];
}

const settlementWith = (names: readonly string[], waitMs = 5_000) => {
  const asked: Asked[] = [];
  const state = { connected: new Set(names), late: (): readonly string[] => [] };
  const gateways = {
    get processes() {
      return names.map((name) => ({ name, instance: `${name}-1`, isConnected: state.connected.has(name) }));
    },
    isConnected: (name: string) => state.connected.has(name),
  };
  const settlement = new GatewaySettlement({
    gateways,
    waitMs,
    undelivered: () => state.late(),
    log: { announce: (message) => asked.push(message) },
  });
  const report = (gateway: string, { ask, projects }: Asked, more: Partial<SettledProject> = {}, skewMs = 0): void => {
    const nowUs = Date.now() * 1_000;
    const settled = projects.map((project) => {
      return { ask, project, untilUs: nowUs, hasQuarantine: false, ...more };
    });
    settlement.report({ gateway, instance: `${gateway}-1`, sentUs: nowUs + skewMs * 1_000, settled });
  };
  /** Resolves with the message of this number, which was sent to the gateways. */
  const message = async (number: number): Promise<Asked> => {
    await vi.waitFor(() => expect(asked.length).toBeGreaterThanOrEqual(number), 5_000);
    return asked[number - 1] as Asked;
  };
  return { settlement, asked, report, message, state };
};

test('the log is complete when every gateway has reported, up to the earliest of their times', async () => {
  const { settlement, report, message } = settlementWith(['a', 'b']);
  const settled = vi.fn();
  const settling = settlement.settle(PROJECT, NEVER).then(settled);
  const ask = await message(1);
  expect(ask).toMatchObject({ type: 'settle', projects: ['u'] });
  report('a', ask, { untilUs: 5 });
  report('a', ask, { untilUs: 3 });
  report('stranger', ask);
  await Promise.resolve();
  expect(settled).not.toHaveBeenCalled();
  report('b', ask, { untilUs: 4 });
  await settling;
  expect(settled).toHaveBeenCalledWith({ settled: true, untilUs: 4 });
});

test('calls share a question that is not sent yet, and later calls share the next one', async () => {
  const { settlement, asked, report, message } = settlementWith(['a']);
  const call = (uid = 'u') => settlement.complete({ ...PROJECT, uid }, NEVER);
  const first = [call(), call(), call('other')];
  expect((await message(1)).projects).toEqual(['u', 'other']);
  // What was accepted after the question was sent is not covered by its answer.
  const second = [call(), call()];
  expect((await message(2)).projects).toEqual(['u']);
  for (const ask of [...asked].reverse()) report('a', ask);
  expect((await Promise.all([...first, ...second])).every(({ settled }) => settled)).toBe(true);
  expect(asked).toHaveLength(2);
});

test('a project that takes longer does not hold up another one', async () => {
  const { settlement, report, message } = settlementWith(['a']);
  const slow = settlement.complete(PROJECT, NEVER);
  const fast = settlement.complete({ ...PROJECT, uid: 'fast' }, NEVER);
  const { ask } = await message(1);
  report('a', { ask, projects: ['fast'] });
  expect(await fast).toMatchObject({ settled: true });
  report('a', { ask, projects: ['u'] });
  expect(await slow).toMatchObject({ settled: true });
});

test('a question that could not be sent in time is not answered', async () => {
  const { settlement, asked } = settlementWith(['a'], 1);
  const first = settlement.complete(PROJECT, NEVER);
  while (asked.length === 0) await endOfTurn();
  // There is one message every 25 ms at most.
  expect(await settlement.complete(PROJECT, NEVER)).toEqual({
    settled: false,
    reasons: ['gateways that could not be asked in time'],
  });
  expect(await first).toMatchObject({ settled: false });
});

test('a gateway that does not report is named in time', async () => {
  const { settlement, report, message } = settlementWith(['a', 'b'], 100);
  const settling = settlement.complete(PROJECT, NEVER);
  report('a', await message(1));
  expect(await settling).toEqual({ settled: false, reasons: ['gateway b, which has not reported in time'] });
});

test('a late caller does not end the question of others', async () => {
  const { settlement, report, message } = settlementWith(['a'], 400);
  const waitsLong = settlement.complete(PROJECT, NEVER);
  const ask = await message(1);
  expect(await waitsLong).toMatchObject({ settled: false });
  report('a', ask);
  const next = settlement.complete(PROJECT, NEVER);
  report('a', await message(2));
  expect(await next).toMatchObject({ settled: true });
});

test('a quarantine makes only the log of its project incomplete', async () => {
  const { settlement, report, message } = settlementWith(['a']);
  const settling = ['u', 'other'].map((uid) => settlement.complete({ ...PROJECT, uid }, NEVER));
  const { ask } = await message(1);
  report('a', { ask, projects: ['u'] }, { hasQuarantine: true });
  report('a', { ask, projects: ['other'] });
  expect(await Promise.all(settling)).toMatchObject([
    { settled: false, reasons: ['gateway a, which has files in quarantine'] },
    { settled: true },
  ]);
});

test.each([
  ['slow', -2 * LIMITS.clockSkewMsMax],
  ['fast', 2 * LIMITS.clockSkewMsMax],
])('a %s clock matters only to readers of the time', async (_, skewMs) => {
  const { settlement, report, message } = settlementWith(['a']);
  const settling = [settlement.settle(PROJECT, NEVER), settlement.complete(PROJECT, NEVER)];
  const ask = await message(1);
  // A gateway can take longer than the difference.
  await delay(LIMITS.clockSkewMsMax + 100);
  report('a', ask, {}, skewMs);
  expect(await Promise.all(settling)).toMatchObject([
    { settled: false, reasons: ['gateway a, whose clock differs by more than a second'] },
    { settled: true },
  ]);
});

test('an unreachable gateway is asked when it is back', async () => {
  const { settlement, report, message, state } = settlementWith(['a', 'b']);
  state.connected.delete('b');
  state.late = () => (state.connected.has('b') ? [] : ['gateway b, which is not connected']);
  const settling = settlement.complete(PROJECT, NEVER);
  setTimeout(() => state.connected.add('b'), 300);
  const ask = await message(1);
  for (const gateway of ['a', 'b']) report(gateway, ask);
  expect(await settling).toMatchObject({ settled: true });
});

test('a gateway that is lost during the question is asked again, and named if it does not come back', async () => {
  const { settlement, asked, report, message, state } = settlementWith(['a', 'b'], 1_000);
  const settling = settlement.complete(PROJECT, NEVER);
  report('a', await message(1));
  state.connected.delete('b');
  state.late = () => ['gateway b, which is not connected'];
  expect(await settling).toEqual({ settled: false, reasons: ['gateway b, which is not connected'] });
  expect(asked).toHaveLength(1);
});

test('what does not pass soon is reported without a wait', async () => {
  const { settlement, asked, state } = settlementWith(['a']);
  state.late = () => ['volume data-b, which is not drained'];
  const startedMs = performance.now();
  expect(await settlement.complete(PROJECT, NEVER)).toEqual({ settled: false, reasons: state.late() });
  expect(performance.now() - startedMs).toBeLessThan(1_000);
  expect(asked).toEqual([]);
});

test('without gateways, the log is complete if nothing else is missing', async () => {
  const { settlement } = settlementWith([]);
  expect(await settlement.settle(PROJECT, NEVER)).toMatchObject({ settled: true });
});

test('one namespace cannot use up the calls of another one', async () => {
  const { settlement, report, message } = settlementWith(['a']);
  const many = Array.from({ length: LIMITS.settlesMax }, () => settlement.complete(PROJECT, NEVER));
  const other = settlement.complete({ ...PROJECT, namespace: 'team-b', uid: 'b' }, NEVER);
  report('a', await message(1));
  const answers = await Promise.all(many);
  expect(answers.filter(({ settled }) => settled)).toHaveLength(LIMITS.settlesMax / 2);
  expect(answers.at(-1)).toEqual({
    settled: false,
    reasons: ['too many questions about this namespace at the same time'],
  });
  expect(await other).toMatchObject({ settled: true });
});

test('a caller that leaves ends its own call only', async () => {
  const { settlement, report, message } = settlementWith(['a']);
  const leaving = new AbortController();
  const left = settlement.complete(PROJECT, leaving.signal);
  const other = settlement.complete(PROJECT, NEVER);
  leaving.abort();
  await expect(left).rejects.toThrow();
  report('a', await message(1));
  expect(await other).toMatchObject({ settled: true });
});
