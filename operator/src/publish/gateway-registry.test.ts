import { LIMITS } from '@standin/contract';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { GatewayRegistry } from './gateway-registry.ts';

const FORGET_MS = 20_000;

let progress: { floor: number | undefined; keys: readonly string[] }[];
let known: (readonly string[])[];
let registry: GatewayRegistry;

beforeEach(() => {
  vi.useFakeTimers();
  progress = [];
  known = [];
  registry = new GatewayRegistry({
    epoch: 3,
    forgetMs: FORGET_MS,
    onKnown: (names) => known.push(names),
    onProgress: (keys) => progress.push({ floor: registry.floor, keys }),
  });
});
afterEach(() => {
  registry.close();
  vi.useRealTimers();
});

/** A stream of a gateway. */
const connect = (name: string, instance = `${name}-1`, cut = (): void => undefined) =>
  registry.connected(name, instance, cut);
const ack = (gateway: string, number: number, rejected: { key: string; message: string }[] = []): boolean =>
  registry.ack({ gateway, instance: `${gateway}-1`, revision: `3.${number}`, rejected });
/** A gateway with a stream that has acknowledged something. Returns what ends the stream. */
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
  // Acknowledges its heartbeats, as every gateway does.
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
  // Reading a large snapshot takes its time.
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
  expect(registry.gateways.map(({ name }) => name)).toEqual(['a']);
  registry.ack({ gateway: 'b', instance: 'b-2', revision: '3.2', rejected: [] });
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
  registry.expect(['a', 'b']);
  join('a', 1);
  expect(registry.programmed('Endpoint/e', 1)).toEqual(waiting(['b'], 2, true));
  connect('b');
  expect(registry.programmed('Endpoint/e', 1)).toEqual(waiting(['b'], 2, true));
  ack('b', 1);
  expect(registry.programmed('Endpoint/e', 1)).toEqual({ kind: 'programmed' });
  expect(known).toEqual([]);
  registry.expect(['gone']);
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
