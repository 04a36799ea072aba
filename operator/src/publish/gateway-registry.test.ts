import { LIMITS } from '@standin/contract';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { GatewayRegistry, type KnownGateway } from './gateway-registry.ts';

const FORGET_MS = 20_000;

let progress: { floor: number | undefined; keys: readonly string[] }[];
let known: (readonly string[])[];
let knownGateways: readonly KnownGateway[];
let lost: string[];
let registry: GatewayRegistry;

beforeEach(() => {
  vi.useFakeTimers();
  progress = [];
  known = [];
  lost = [];
  registry = new GatewayRegistry({
    epoch: 3,
    forgetMs: FORGET_MS,
    onKnown: (gateways) => {
      knownGateways = gateways;
      known.push(gateways.map(({ name }) => name));
    },
    onLost: (name) => lost.push(name),
    onProgress: (keys) => progress.push({ floor: registry.floor, keys }),
  });
});
afterEach(() => {
  registry.close();
  vi.useRealTimers();
});

/** Opens a stream of a gateway. */
const connect = (name: string, instance = `${name}-1`, cut = (): void => undefined, maxStalenessMs = 0) =>
  registry.connected({ name, maxStalenessMs }, instance, cut);
const expected = (...names: string[]) => names.map((name) => ({ name, maxStalenessMs: 0 }));
const ack = (gateway: string, number: number, rejected: { key: string; message: string }[] = []): boolean =>
  registry.ack({ gateway, instance: `${gateway}-1`, revision: `3.${number}`, rejected });
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
  expect(registry.programmed('Endpoint/e', 2)).toEqual({ kind: 'no-gateway' });
  join('a', 2);
  join('b', 1);
  expect(registry.programmed('Endpoint/e', 2)).toEqual(waiting(['b'], 2));
  ack('b', 2);
  expect(registry.programmed('Endpoint/e', 2)).toEqual({ kind: 'programmed' });
  expect(progress.map(({ floor }) => floor)).toEqual([2, 1, 2]);
});

test('a gateway that connects is not waited for before its first acknowledgement', () => {
  join('a', 2);
  const disconnected = connect('b');
  expect(registry.programmed('Endpoint/e', 2)).toEqual({ kind: 'programmed' });
  disconnected();
  expect(registry.gateways.map(({ name }) => name)).toEqual(['a']);
});

describe('what is revoked', () => {
  const revoked = () => registry.revoked('Account/t', 2);
  test('waits for a gateway from when it connects: it may answer with the snapshot before its acknowledgement arrives', () => {
    join('a', 2);
    const disconnected = connect('b');
    expect(known).toEqual([['a'], ['a', 'b']]);
    expect([revoked(), registry.answeringCount]).toEqual([waiting(['b'], 2, true), 2]);
    disconnected();
    vi.advanceTimersByTime(FORGET_MS - 1);
    expect([revoked(), lost]).toEqual([waiting(['b'], 2, true), []]);
    vi.advanceTimersByTime(1);
    expect([revoked(), lost, known.at(-1)]).toEqual([{ kind: 'programmed' }, ['b'], ['a']]);
  });

  test('does not wait for one that says goodbye before it acknowledged anything', () => {
    connect('a');
    registry.goodbye('a', 'a-1');
    expect([revoked(), known, progress]).toEqual([
      { kind: 'no-gateway' },
      [['a'], []],
      [{ floor: undefined, keys: [] }],
    ]);
  });

  test('does not wait for one with a maxStalenessMs: it answers nobody before its acknowledgement was heard', () => {
    const disconnected = connect('a', 'a-1', undefined, 5_000);
    expect([revoked(), registry.answeringCount]).toEqual([{ kind: 'no-gateway' }, 0]);
    // The next leader still learns about it: the acknowledgement was received, but its response may not have arrived.
    expect(known).toEqual([['a']]);
    disconnected();
    expect([lost, known.at(-1)]).toEqual([[], []]);
  });

  test('does not wait for a lost process whose successor speaks for it', () => {
    join('a', 1)();
    connect('a', 'a-2');
    vi.advanceTimersByTime(FORGET_MS);
    expect([revoked(), lost]).toEqual([waiting(['a'], 1, true), []]);
    registry.ack({ gateway: 'a', instance: 'a-2', revision: '3.2', rejected: [] });
    expect([revoked(), lost]).toEqual([{ kind: 'programmed' }, []]);
  });
});

test('acknowledgements of another term, older ones, and those without a stream change nothing', () => {
  join('a', 5);
  expect(registry.ack({ gateway: 'a', instance: 'a-1', revision: '2.9', rejected: [] })).toBe(false);
  expect(ack('a', 4)).toBe(true);
  expect(registry.gateways[0]?.acked).toEqual({ epoch: 3, number: 5 });
  connect('b')();
  expect(ack('b', 5)).toBe(false);
  expect(registry.gateways).toHaveLength(1);
});

test('what is acknowledged again is no progress', () => {
  join('a', 1);
  ack('a', 1);
  expect(progress).toHaveLength(1);
});

test('a rejected object is named with its gateway until that gateway takes it', () => {
  connect('a');
  ack('a', 1, [{ key: 'Endpoint/e', message: 'bad header' }]);
  expect(registry.programmed('Endpoint/e', 1)).toEqual({ kind: 'rejected', gateway: 'a', message: 'bad header' });
  expect(registry.programmed('Endpoint/other', 1)).toEqual({ kind: 'programmed' });
  ack('a', 2);
  expect(registry.programmed('Endpoint/e', 1)).toEqual({ kind: 'programmed' });
  expect(progress.map(({ keys }) => keys)).toEqual([['Endpoint/e'], ['Endpoint/e']]);
});

test('a gateway whose stream is gone is waited for, then forgotten; one that comes back is not', () => {
  join('a', 2);
  const disconnected = join('b', 1);
  // Acknowledges its heartbeats, like every gateway.
  const beat = setInterval(() => ack('a', 2), LIMITS.streamHeartbeatMs);
  disconnected();
  vi.advanceTimersByTime(FORGET_MS - 1);
  expect(registry.programmed('Endpoint/e', 2)).toEqual(waiting(['b'], 2));
  const again = connect('b');
  vi.advanceTimersByTime(FORGET_MS - 1);
  expect(registry.programmed('Endpoint/e', 2)).toEqual(waiting(['b'], 2));
  again();
  vi.advanceTimersByTime(FORGET_MS);
  expect(registry.programmed('Endpoint/e', 2)).toEqual({ kind: 'programmed' });
  clearInterval(beat);
});

test('the last gateway that is forgotten leaves nobody to wait for', () => {
  join('a', 1)();
  vi.advanceTimersByTime(FORGET_MS);
  expect(registry.programmed('Endpoint/e', 2)).toEqual({ kind: 'no-gateway' });
  expect(progress.at(-1)).toEqual({ floor: undefined, keys: [] });
});

test('a gateway that comes back before its old stream is gone stays connected when that ends', () => {
  const old = join('a', 1);
  connect('a');
  old();
  vi.advanceTimersByTime(FORGET_MS - 1);
  expect(registry.gateways).toEqual([{ name: 'a', acked: { epoch: 3, number: 1 }, connected: true }]);
});

test('a gateway that is silent is cut off', () => {
  const cut = vi.fn();
  connect('a', 'a-1', cut);
  // Reading a large snapshot takes time.
  vi.advanceTimersByTime(LIMITS.streamSilenceMsMax * 2);
  expect(cut).not.toHaveBeenCalled();
  for (let beat = 0; beat < 10; beat += 1) {
    ack('a', 1);
    vi.advanceTimersByTime(LIMITS.streamHeartbeatMs);
  }
  expect(cut).not.toHaveBeenCalled();
  vi.advanceTimersByTime(LIMITS.streamSilenceMsMax);
  expect(cut).toHaveBeenCalledOnce();
});

test('a restarted gateway takes its predecessor’s place, whose late goodbye does nothing', () => {
  join('a', 2);
  const gone = join('b', 2);
  gone();
  connect('b', 'b-2');
  // Until it acknowledges, it may answer from the copy that its predecessor left on the disk.
  expect(registry.programmed('Endpoint/e', 3)).toEqual(waiting(['a', 'b'], 2));
  registry.ack({ gateway: 'b', instance: 'b-2', revision: '3.3', rejected: [] });
  expect(registry.programmed('Endpoint/e', 3)).toEqual(waiting(['a'], 2));
  expect(known).toEqual([['a'], ['a', 'b']]);
  registry.goodbye('b', 'b-1');
  expect(registry.gateways).toHaveLength(2);
  registry.goodbye('b', 'b-2');
  expect(registry.gateways).toHaveLength(1);
});

test('an acknowledgement that comes after the goodbye does not bring the gateway back', () => {
  const disconnected = join('a', 1);
  registry.goodbye('a', 'a-1');
  expect(ack('a', 1)).toBe(false);
  disconnected();
  expect(registry.gateways).toEqual([]);
});

test('two gateways of one name are both waited for', () => {
  join('a', 2);
  connect('a', 'a-2');
  registry.ack({ gateway: 'a', instance: 'a-2', revision: '3.1', rejected: [] });
  expect(registry.programmed('Endpoint/e', 2)).toEqual(waiting(['a'], 2));
  expect(ack('a', 2)).toBe(true);
});

test('a gateway that the leader before knew is waited for until it acknowledges or is forgotten', () => {
  registry.expect(expected('a', 'b'));
  join('a', 1);
  expect(registry.programmed('Endpoint/e', 1)).toEqual(waiting(['b'], 2, true));
  connect('b');
  expect(registry.programmed('Endpoint/e', 1)).toEqual(waiting(['b'], 2, true));
  ack('b', 1);
  expect(registry.programmed('Endpoint/e', 1)).toEqual({ kind: 'programmed' });
  expect(known).toEqual([]);
  registry.expect(expected('gone'));
  vi.advanceTimersByTime(FORGET_MS);
  expect(registry.programmed('Endpoint/e', 1)).toEqual({ kind: 'programmed' });
  expect(known).toEqual([['a', 'b']]);
});

test('the names of the known gateways are told when one joins or leaves', () => {
  join('b', 1);
  join('a', 1);
  registry.goodbye('b', 'b-1');
  expect(known).toEqual([['b'], ['a', 'b'], ['a']]);
});

describe('a gateway that refuses requests after its maxStalenessMs', () => {
  const STALE_MS = 5_000;
  const MARGIN_MS = 500;

  test('is waited for exactly so long after its last acknowledgement, its stream gone or not', () => {
    const disconnected = connect('a', 'a-1', undefined, STALE_MS);
    ack('a', 1);
    vi.advanceTimersByTime(STALE_MS);
    ack('a', 1);
    vi.advanceTimersByTime(STALE_MS + MARGIN_MS - 1);
    expect(registry.programmed('Account/t', 2)).toEqual(waiting(['a'], 1));
    vi.advanceTimersByTime(1);
    expect(registry.programmed('Account/t', 2)).toEqual({ kind: 'no-gateway' });
    expect([progress.at(-1), registry.answeringCount]).toEqual([{ floor: undefined, keys: [] }, 0]);
    // Its stream was only blocked. It answers again once its acknowledgement gets a response, and counts again.
    expect(ack('a', 1)).toBe(true);
    expect(registry.programmed('Account/t', 2)).toEqual(waiting(['a'], 1));
    disconnected();
    vi.advanceTimersByTime(STALE_MS + MARGIN_MS);
    expect(registry.gateways).toEqual([]);
  });

  test('is waited for longer than others where that is longer', () => {
    connect('a', 'a-1', undefined, 3 * FORGET_MS);
    ack('a', 1);
    vi.advanceTimersByTime(2 * FORGET_MS);
    expect(registry.programmed('Account/t', 2)).toEqual(waiting(['a'], 1));
    vi.advanceTimersByTime(FORGET_MS + MARGIN_MS);
    expect(registry.programmed('Account/t', 2)).toEqual({ kind: 'no-gateway' });
  });

  test('connecting again does not prolong it: only an acknowledgement does', () => {
    connect('a', 'a-1', undefined, STALE_MS);
    ack('a', 1);
    vi.advanceTimersByTime(STALE_MS - 1);
    connect('a', 'a-1', undefined, STALE_MS);
    vi.advanceTimersByTime(MARGIN_MS + 1);
    expect(registry.programmed('Account/t', 2)).toEqual({ kind: 'no-gateway' });
  });

  test('is handed to the next leader, which counts from the beginning of its term', () => {
    connect('a', 'a-1', undefined, STALE_MS);
    ack('a', 1);
    expect(knownGateways).toEqual([{ name: 'a', maxStalenessMs: STALE_MS }]);
    registry.close();
    registry.expect(knownGateways);
    expect(registry.programmed('Account/t', 1)).toEqual(waiting(['a'], 1, true));
    vi.advanceTimersByTime(STALE_MS + MARGIN_MS);
    expect(registry.programmed('Account/t', 1)).toEqual({ kind: 'no-gateway' });
  });
});
