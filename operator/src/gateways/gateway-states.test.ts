import { LIMITS, type Ack, type RejectedObject, type Undelivered } from '@standin/contract';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Cut, Effects } from './gateway-record.ts';
import { GatewayStates } from './gateway-states.ts';

const FORGET_MS = 20_000;

let now: number;
let progress: { floor: number | undefined; keys: readonly string[] }[];
let known: (readonly string[])[];
let lost: string[];
let states: GatewayStates;

beforeEach(() => {
  now = 0;
  progress = [];
  known = [];
  lost = [];
  states = new GatewayStates({ epoch: 3, forgetMs: FORGET_MS });
});

/** Does the work that an event requires. */
const apply = (effects: Effects): void => {
  for (const cut of effects.cut) cut();
  lost.push(...effects.lost);
  if (effects.isChanged) known.push(states.members.map(({ name }) => name));
  if (effects.progress !== undefined) progress.push({ floor: states.floor, keys: effects.progress });
};
const pass = (ms: number): void => {
  const until = now + ms;
  while (states.wakeAt <= until) {
    now = states.wakeAt;
    apply(states.advance(now));
  }
  now = until;
};

/** Opens a stream for a gateway. Returns a function that ends it. */
const connect = (name: string, instance = `${name}-1`, cut: Cut = () => undefined, maxStalenessMs = 0) => {
  apply(states.connected({ name, maxStalenessMs }, instance, cut, now));
  return () => apply(states.disconnected(name, instance, cut, now));
};
const goodbye = (name: string, instance: string): void => apply(states.goodbye(name, instance));
const remember = (...names: string[]): void =>
  states.remember(
    names.map((name) => ({ name, maxStalenessMs: 0 })),
    now,
  );
const acknowledge = (ack: Ack): boolean => {
  const effects = states.acknowledged(ack, now);
  if (effects !== undefined) apply(effects);
  return effects !== undefined;
};
/** How long before an acknowledgement its last heartbeat was sent. */
const HEARTBEAT_AGE_MS = 1_500;
/** Acknowledges a revision, and reports the requests that are not in the log. Without an age, they are unknown. */
const report = (gateway: string, ageMs?: number, more: Partial<Undelivered> = {}): void => {
  const undelivered = ageMs === undefined ? undefined : { ageMs, hasQuarantine: false, projects: [], ...more };
  const heartbeatMs = now - HEARTBEAT_AGE_MS;
  const acked = { gateway, instance: `${gateway}-1`, revision: '3.1', rejected: [], undelivered, heartbeatMs };
  states.acknowledged(acked, now);
};
const deliveredUpTo = (): number => states.deliveredUpTo({ projectUid: 'p', namespace: 'a' });
const undelivered = (before: number, isJudged?: (gateway: string) => boolean): readonly string[] =>
  states.undelivered({ projectUid: 'p', namespace: 'a', before }, isJudged);
const ack = (gateway: string, number: number, rejected: RejectedObject[] = []): boolean =>
  acknowledge({ gateway, instance: `${gateway}-1`, revision: `3.${number}`, rejected });
/** Opens a gateway's stream and acknowledges a revision. Returns a function that ends the stream. */
const join = (name: string, number: number): (() => void) => {
  const disconnected = connect(name);
  expect(ack(name, number)).toBe(true);
  return disconnected;
};
const waiting = (gateways: string[], of: number, unheard = false) => {
  return { kind: 'waiting', gateways, known: of, unheard };
};

test('an object is programmed when every known gateway has acknowledged its revision', () => {
  expect(states.programmed('Endpoint/e', 2)).toEqual({ kind: 'no-gateway' });
  join('a', 2);
  join('b', 1);
  expect(states.programmed('Endpoint/e', 2)).toEqual(waiting(['b'], 2));
  ack('b', 2);
  expect(states.programmed('Endpoint/e', 2)).toEqual({ kind: 'programmed' });
  expect(progress.map(({ floor }) => floor)).toEqual([2, 1, 2]);
});

test('Programmed does not wait for a new gateway before its first acknowledgement', () => {
  join('a', 2);
  const disconnected = connect('b');
  expect(states.programmed('Endpoint/e', 2)).toEqual({ kind: 'programmed' });
  disconnected();
  expect(states.known.map(({ name }) => name)).toEqual(['a']);
});

describe('what gateways have delivered', () => {
  test('is everything, without gateways', () => {
    expect(deliveredUpTo()).toBe(Infinity);
  });

  test('is what the slowest of them has delivered, when the last heartbeat was sent', () => {
    join('a', 1);
    join('b', 1);
    pass(10_000);
    report('a', 0);
    expect(deliveredUpTo()).toBe(-Infinity);
    report('b', 2_000);
    expect(deliveredUpTo()).toBe(8_000 - HEARTBEAT_AGE_MS);
    pass(1_000);
    report('b', 0);
    expect(deliveredUpTo()).toBe(10_000 - HEARTBEAT_AGE_MS);
  });

  test('is unknown before the first heartbeat, and not later than now', () => {
    join('a', 1);
    pass(10_000);
    const acked = { gateway: 'a', instance: 'a-1', revision: '3.1', rejected: [] };
    const undelivered = { ageMs: 1_000, hasQuarantine: false, projects: [] };
    states.acknowledged({ ...acked, undelivered }, now);
    expect(deliveredUpTo()).toBe(-Infinity);
    states.acknowledged({ ...acked, undelivered, heartbeatMs: now + 60_000 }, now);
    expect(deliveredUpTo()).toBe(9_000);
  });

  test('does not decrease when the oldest record gets older', () => {
    join('a', 1);
    pass(10_000);
    report('a', 0);
    pass(1_000);
    report('a', 3_000);
    report('a');
    expect(deliveredUpTo()).toBe(10_000 - HEARTBEAT_AGE_MS);
  });

  test('is unknown while a gateway is remembered or lost', () => {
    remember('a');
    expect(deliveredUpTo()).toBe(-Infinity);
    const disconnected = join('a', 1);
    report('a', 0);
    expect(deliveredUpTo()).toBe(-HEARTBEAT_AGE_MS);
    disconnected();
    pass(FORGET_MS);
    expect(deliveredUpTo()).toBe(-Infinity);
    apply(states.gone('a'));
    expect(deliveredUpTo()).toBe(Infinity);
  });

  test('leaves out gateways that may have something else, which are named with the reason', () => {
    expect(undelivered(0)).toEqual([]);
    remember('a', 'b');
    expect(undelivered(0)).toEqual(['gateway a, which is not connected', 'gateway b, which is not connected']);
    const disconnected = join('a', 1);
    join('b', 1);
    pass(10_000);
    report('a', 0);
    report('b', 2_000);
    const delivered = 8_000 - HEARTBEAT_AGE_MS;
    expect(undelivered(delivered)).toEqual([]);
    expect(undelivered(delivered + 1)).toEqual(['gateway b']);
    report('a', 0, { hasQuarantine: true });
    expect(undelivered(delivered)).toEqual(['gateway a, which has files in quarantine']);
    disconnected();
    expect(undelivered(delivered)).toEqual(['gateway a, which is not connected']);
    pass(FORGET_MS);
    expect(undelivered(delivered)).toContain('gateway a, which is unreachable');
    apply(states.gone('a'));
    expect(undelivered(delivered).some((text) => text.startsWith('gateway a'))).toBe(false);
  });
});

describe('a revocation', () => {
  const revoked = () => states.revoked('Account/t', 2);
  test('waits for a gateway as soon as it connects, since it may answer with the snapshot before its acknowledgement arrives', () => {
    join('a', 2);
    const disconnected = connect('b');
    expect(known).toEqual([['a'], ['a', 'b']]);
    expect([revoked(), states.answeringCount]).toEqual([waiting(['b'], 2, true), 2]);
    disconnected();
    pass(FORGET_MS - 1);
    expect([revoked(), lost]).toEqual([waiting(['b'], 2, true), []]);
    pass(1);
    expect([revoked(), lost]).toEqual([waiting(['b'], 2), ['b']]);
    expect(states.programmed('Account/t', 2)).toEqual({ kind: 'programmed' });
    // The next leader must know that the lost gateway may still answer.
    expect(known.at(-1)).toEqual(['a', 'b']);
  });

  test('does not wait for a gateway that sends a goodbye message before its first acknowledgement', () => {
    connect('a');
    goodbye('a', 'a-1');
    expect([revoked(), known, progress]).toEqual([
      { kind: 'no-gateway' },
      [['a'], []],
      [{ floor: undefined, keys: [] }],
    ]);
  });

  test('does not wait for a gateway with a maxStalenessMs, since it does not answer before its acknowledgement is received', () => {
    const disconnected = connect('a', 'a-1', undefined, 5_000);
    expect([revoked(), states.answeringCount]).toEqual([{ kind: 'no-gateway' }, 0]);
    // The gateway is stored for the next leader nevertheless, because it may answer as soon as it gets the response to an
    // acknowledgement.
    expect(known).toEqual([['a']]);
    disconnected();
    expect([revoked(), states.answeringCount]).toEqual([{ kind: 'no-gateway' }, 0]);
  });

  test('does not wait for a lost process whose successor has acknowledged', () => {
    join('a', 1)();
    connect('a', 'a-2');
    pass(FORGET_MS);
    expect([revoked(), lost]).toEqual([waiting(['a'], 1, true), []]);
    acknowledge({ gateway: 'a', instance: 'a-2', revision: '3.2', rejected: [] });
    expect([revoked(), lost]).toEqual([{ kind: 'programmed' }, []]);
  });
});

describe('a lost gateway', () => {
  const lose = (...names: string[]): void => {
    remember(...names);
    pass(FORGET_MS);
    expect(lost).toEqual(names);
  };
  const revoked = () => states.revoked('Account/t', 2);

  test('delays a revocation, as known gateways do', () => {
    lose('b');
    expect(states.members).toEqual([{ name: 'b', maxStalenessMs: 0 }]);
    expect(revoked()).toEqual(waiting(['b'], 1));
    remember('a', 'c');
    join('c', 2);
    expect(revoked()).toEqual(waiting(['a', 'b'], 3));
    join('a', 2);
    expect([revoked(), states.answeringCount]).toEqual([waiting(['b'], 3), 3]);
    ack('a', 3, [{ key: 'Account/t', message: 'no' }]);
    expect(revoked()).toEqual({ kind: 'rejected', gateway: 'a', message: 'no' });
  });

  test('does not delay other changes', () => {
    lose('b');
    join('a', 2);
    expect(states.programmed('Endpoint/e', 2)).toEqual({ kind: 'programmed' });
  });

  test('no longer delays anything after it has stopped', () => {
    lose('b');
    join('a', 2);
    const before = progress.length;
    apply(states.gone('b'));
    expect([states.isLost('b'), progress.length, known.at(-1)]).toEqual([false, before + 1, ['a']]);
    expect(revoked()).toEqual({ kind: 'programmed' });
    apply(states.gone('b'));
    expect(progress).toHaveLength(before + 1);
  });

  test('is no longer lost after it reconnects', () => {
    lose('a', 'b');
    const before = progress.length;
    connect('a');
    connect('c');
    expect(['a', 'b', 'c'].map((name) => states.isLost(name))).toEqual([false, true, false]);
    expect(progress).toHaveLength(before);
  });
});

test('acknowledgements from another term, outdated ones, and those without a stream change nothing', () => {
  join('a', 5);
  expect(acknowledge({ gateway: 'a', instance: 'a-1', revision: '2.9', rejected: [] })).toBe(false);
  expect(ack('a', 4)).toBe(true);
  expect(states.known[0]?.acked).toEqual({ epoch: 3, number: 5 });
  connect('b')();
  expect(ack('b', 5)).toBe(false);
  expect(states.known).toHaveLength(1);
});

test('a repeated acknowledgement is not progress', () => {
  join('a', 1);
  ack('a', 1);
  expect(progress).toHaveLength(1);
});

test('a rejected object is reported with its gateway until that gateway accepts it', () => {
  connect('a');
  ack('a', 1, [{ key: 'Endpoint/e', message: 'bad header' }]);
  expect(states.programmed('Endpoint/e', 1)).toEqual({ kind: 'rejected', gateway: 'a', message: 'bad header' });
  expect(states.programmed('Endpoint/other', 1)).toEqual({ kind: 'programmed' });
  ack('a', 2);
  expect(states.programmed('Endpoint/e', 1)).toEqual({ kind: 'programmed' });
  expect(progress.map(({ keys }) => keys)).toEqual([['Endpoint/e'], ['Endpoint/e']]);
});

test('Programmed waits for a gateway without a stream until it is forgotten or reconnects', () => {
  join('a', 2);
  const disconnected = join('b', 1);
  /** Lets time pass while `a` acknowledges its heartbeats, as every gateway does. */
  const passWithBeats = (ms: number): void => {
    for (let left = ms; left > 0; left -= LIMITS.streamHeartbeatMs) {
      pass(Math.min(left, LIMITS.streamHeartbeatMs));
      ack('a', 2);
    }
  };
  disconnected();
  passWithBeats(FORGET_MS - 1);
  expect(states.programmed('Endpoint/e', 2)).toEqual(waiting(['b'], 2));
  const again = connect('b');
  passWithBeats(FORGET_MS - 1);
  expect(states.programmed('Endpoint/e', 2)).toEqual(waiting(['b'], 2));
  again();
  passWithBeats(FORGET_MS);
  expect(states.programmed('Endpoint/e', 2)).toEqual({ kind: 'programmed' });
});

test('Programmed reports a missing gateway after the last one is forgotten', () => {
  join('a', 1)();
  pass(FORGET_MS);
  expect(states.programmed('Endpoint/e', 2)).toEqual({ kind: 'no-gateway' });
  expect(progress.at(-1)).toEqual({ floor: undefined, keys: [] });
});

test('a gateway that reconnects before its old stream ends stays connected', () => {
  const old = join('a', 1);
  connect('a');
  old();
  pass(FORGET_MS - 1);
  expect(states.known).toEqual([{ name: 'a', acked: { epoch: 3, number: 1 }, connected: true }]);
});

test('a silent gateway is disconnected', () => {
  const cut = vi.fn();
  connect('a', 'a-1', cut);
  // A gateway has more time for its first acknowledgement, because reading a large snapshot takes time.
  pass(LIMITS.streamSilenceMsMax * 2);
  expect(cut).not.toHaveBeenCalled();
  for (let beat = 0; beat < 10; beat += 1) {
    ack('a', 1);
    pass(LIMITS.streamHeartbeatMs);
  }
  expect(cut).not.toHaveBeenCalled();
  pass(LIMITS.streamSilenceMsMax);
  expect(cut).toHaveBeenCalledOnce();
});

test('a restarted gateway replaces its predecessor, and a late goodbye message from the predecessor has no effect', () => {
  join('a', 2);
  const gone = join('b', 2);
  gone();
  connect('b', 'b-2');
  // Until the new process acknowledges, it may answer with the copy that its predecessor left on the disk.
  expect(states.programmed('Endpoint/e', 3)).toEqual(waiting(['a', 'b'], 2));
  acknowledge({ gateway: 'b', instance: 'b-2', revision: '3.3', rejected: [] });
  expect(states.programmed('Endpoint/e', 3)).toEqual(waiting(['a'], 2));
  expect(known).toEqual([['a'], ['a', 'b']]);
  goodbye('b', 'b-1');
  expect(states.known).toHaveLength(2);
  goodbye('b', 'b-2');
  expect(states.known).toHaveLength(1);
});

test('an acknowledgement after the goodbye message does not register the gateway again', () => {
  const disconnected = join('a', 1);
  goodbye('a', 'a-1');
  expect(ack('a', 1)).toBe(false);
  disconnected();
  expect(states.known).toEqual([]);
});

test('Programmed waits for both of two gateways with the same name', () => {
  join('a', 2);
  connect('a', 'a-2');
  acknowledge({ gateway: 'a', instance: 'a-2', revision: '3.1', rejected: [] });
  expect(states.programmed('Endpoint/e', 2)).toEqual(waiting(['a'], 2));
  expect(ack('a', 2)).toBe(true);
});

test('Programmed waits for a gateway from the previous term until it acknowledges or is forgotten', () => {
  remember('a', 'b');
  join('a', 1);
  expect(states.programmed('Endpoint/e', 1)).toEqual(waiting(['b'], 2, true));
  connect('b');
  expect(states.programmed('Endpoint/e', 1)).toEqual(waiting(['b'], 2, true));
  ack('b', 1);
  expect(states.programmed('Endpoint/e', 1)).toEqual({ kind: 'programmed' });
  expect(known).toEqual([]);
  remember('gone');
  pass(FORGET_MS);
  expect(states.programmed('Endpoint/e', 1)).toEqual({ kind: 'programmed' });
  // The gateway is lost, but stays a member.
  expect([known, lost]).toEqual([[], ['gone']]);
});

test('the members change when a gateway joins or leaves', () => {
  join('b', 1);
  join('a', 1);
  goodbye('b', 'b-1');
  expect(known).toEqual([['b'], ['a', 'b'], ['a']]);
});

describe('a gateway with a maxStalenessMs', () => {
  const STALE_MS = 5_000;
  const MARGIN_MS = 500;

  test('delays a revocation for exactly that long after its last acknowledgement, with or without a stream', () => {
    const disconnected = connect('a', 'a-1', undefined, STALE_MS);
    ack('a', 1);
    pass(STALE_MS);
    ack('a', 1);
    pass(STALE_MS + MARGIN_MS - 1);
    expect(states.programmed('Account/t', 2)).toEqual(waiting(['a'], 1));
    pass(1);
    expect(states.programmed('Account/t', 2)).toEqual({ kind: 'no-gateway' });
    expect([progress.at(-1), states.answeringCount]).toEqual([{ floor: undefined, keys: [] }, 0]);
    // The gateway's stream was only blocked. The gateway answers and counts again as soon as its acknowledgement gets a response.
    expect(ack('a', 1)).toBe(true);
    expect(states.programmed('Account/t', 2)).toEqual(waiting(['a'], 1));
    disconnected();
    pass(STALE_MS + MARGIN_MS);
    expect(states.known).toEqual([]);
  });

  test('delays a revocation longer than others if its maxStalenessMs is longer', () => {
    connect('a', 'a-1', undefined, 3 * FORGET_MS);
    ack('a', 1);
    pass(2 * FORGET_MS);
    expect(states.programmed('Account/t', 2)).toEqual(waiting(['a'], 1));
    pass(FORGET_MS + MARGIN_MS);
    expect(states.programmed('Account/t', 2)).toEqual({ kind: 'no-gateway' });
  });

  test('delays a revocation longer after an acknowledgement, but not after a reconnect', () => {
    connect('a', 'a-1', undefined, STALE_MS);
    ack('a', 1);
    pass(STALE_MS - 1);
    connect('a', 'a-1', undefined, STALE_MS);
    pass(MARGIN_MS + 1);
    expect(states.programmed('Account/t', 2)).toEqual({ kind: 'no-gateway' });
  });

  test('is stored for the next leader, which counts the time from the start of its term', () => {
    connect('a', 'a-1', undefined, STALE_MS);
    ack('a', 1);
    const { members } = states;
    expect(members).toEqual([{ name: 'a', maxStalenessMs: STALE_MS }]);
    states = new GatewayStates({ epoch: 3, forgetMs: FORGET_MS });
    states.remember(members, now);
    expect(states.programmed('Account/t', 1)).toEqual(waiting(['a'], 1, true));
    pass(STALE_MS + MARGIN_MS);
    expect(states.programmed('Account/t', 1)).toEqual({ kind: 'no-gateway' });
  });

  test('that leaves requests with its goodbye message delays only Purges, unless its volume shows whether it is drained', () => {
    connect('a', 'a-1', undefined, STALE_MS);
    report('a', 0);
    apply(states.goodbye('a', 'a-1', true));
    expect([lost, undelivered(now)]).toEqual([['a'], ['gateway a, which is unreachable']]);
    expect(undelivered(now, (name) => name === 'a')).toEqual([]);
    expect([states.programmed('Account/t', 2), states.revoked('Account/t', 2)]).toEqual([
      { kind: 'no-gateway' },
      { kind: 'no-gateway' },
    ]);
    connect('a', 'a-1', undefined, STALE_MS);
    pass(10_000);
    report('a', 0);
    expect(undelivered(now - 5_000)).toEqual([]);
  });

  describe('may have requests that are not in the log after it expires', () => {
    const ends: [string, () => void][] = [
      ['without a stream', () => pass(STALE_MS + MARGIN_MS)],
      [
        'before its stream ends',
        () => {
          const disconnected = connect('a', 'a-1', undefined, STALE_MS);
          pass(STALE_MS + MARGIN_MS);
          disconnected();
        },
      ],
    ];
    test.each(ends)('%s, until it is gone or has delivered', (_when, expire) => {
      const disconnected = connect('a', 'a-1', undefined, STALE_MS);
      report('a', 0);
      disconnected();
      expire();
      expect([lost, states.isLost('a')]).toEqual([['a'], true]);
      expect(undelivered(now)).toEqual(['gateway a, which is unreachable']);
      expect(deliveredUpTo()).toBe(-Infinity);
      expect([states.programmed('Account/t', 2), states.answeringCount]).toEqual([{ kind: 'no-gateway' }, 0]);
      connect('a', 'a-2', undefined, STALE_MS)();
      expect(undelivered(now)).toEqual(['gateway a, which is unreachable']);
      apply(states.gone('a'));
      expect([undelivered(now), deliveredUpTo(), states.members]).toEqual([[], Infinity, []]);
      connect('a', 'a-1', undefined, STALE_MS);
      pass(10_000);
      report('a', 0);
      expect(undelivered(now - 5_000)).toEqual([]);
    });

    test('also for the next leader, whose revocations do not wait for it as long again', () => {
      const disconnected = connect('a', 'a-1', undefined, STALE_MS);
      report('a', 0);
      disconnected();
      pass(STALE_MS + MARGIN_MS);
      const { members } = states;
      states = new GatewayStates({ epoch: 4, forgetMs: FORGET_MS });
      states.remember(members, now);
      pass(1 + MARGIN_MS);
      expect(states.revoked('Account/t', 1)).toEqual({ kind: 'no-gateway' });
      expect(undelivered(now)).toEqual(['gateway a, which is unreachable']);
      expect(states.members).toEqual(members);
    });
  });
});
