import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { GatewayRegistry } from './gateway-registry.ts';

let progress: { upTo: number; keys: readonly string[] }[];
let known: (readonly string[])[];
let registry: GatewayRegistry;

beforeEach(() => {
  vi.useFakeTimers();
  progress = [];
  known = [];
  registry = new GatewayRegistry({
    epoch: 3,
    forgetMs: 1_000,
    onKnown: (names) => known.push(names),
    onProgress: (step) => progress.push({ ...step }),
  });
});
afterEach(() => {
  registry.close();
  vi.useRealTimers();
});

const ack = (gateway: string, number: number, rejected: { key: string; message: string }[] = []): boolean =>
  registry.ack({ gateway, instance: `${gateway}-1`, revision: `3.${number}`, rejected });

test('an object is programmed when every known gateway has acknowledged its revision', () => {
  expect(registry.programmed('Endpoint/e', 2)).toEqual({ kind: 'no-gateway' });
  ack('a', 2);
  ack('b', 1);
  expect(registry.programmed('Endpoint/e', 2)).toEqual({ kind: 'waiting', gateways: ['b'], known: 2 });
  ack('b', 2);
  expect(registry.programmed('Endpoint/e', 2)).toEqual({ kind: 'programmed' });
  expect(progress.map(({ upTo }) => upTo)).toEqual([2, 1, 2]);
});

test('a gateway that connects is not waited for before its first acknowledgement', () => {
  ack('a', 2);
  registry.connected('b', 'b-1');
  expect(registry.programmed('Endpoint/e', 2)).toEqual({ kind: 'programmed' });
});

test('acknowledgements of another term, and older ones, change nothing', () => {
  ack('a', 5);
  expect(registry.ack({ gateway: 'a', instance: 'a-1', revision: '2.9', rejected: [] })).toBe(false);
  expect(ack('a', 4)).toBe(true);
  expect(registry.gateways[0]?.acked).toEqual({ epoch: 3, number: 5 });
});

test('a rejected object is named with its gateway until that gateway takes it', () => {
  ack('a', 1, [{ key: 'Endpoint/e', message: 'bad header' }]);
  expect(registry.programmed('Endpoint/e', 1)).toEqual({ kind: 'rejected', gateway: 'a', message: 'bad header' });
  expect(registry.programmed('Endpoint/other', 1)).toEqual({ kind: 'programmed' });
  ack('a', 2);
  expect(registry.programmed('Endpoint/e', 1)).toEqual({ kind: 'programmed' });
  expect(progress.map(({ keys }) => keys)).toEqual([['Endpoint/e'], ['Endpoint/e']]);
});

test('a gateway whose stream is gone is waited for, then forgotten; one that comes back is not', () => {
  ack('a', 2);
  ack('b', 1);
  registry.disconnected('b', 'b-1');
  vi.advanceTimersByTime(999);
  expect(registry.programmed('Endpoint/e', 2).kind).toBe('waiting');
  registry.connected('b', 'b-1');
  vi.advanceTimersByTime(5_000);
  expect(registry.programmed('Endpoint/e', 2).kind).toBe('waiting');
  registry.disconnected('b', 'b-1');
  vi.advanceTimersByTime(1_000);
  expect(registry.programmed('Endpoint/e', 2)).toEqual({ kind: 'programmed' });
});

test('a restarted gateway takes its predecessor’s place, whose late goodbye does nothing', () => {
  ack('a', 2);
  ack('b', 2);
  registry.connected('b', 'b-2');
  expect(registry.gateways.map(({ name }) => name)).toEqual(['a']);
  registry.ack({ gateway: 'b', instance: 'b-2', revision: '3.2', rejected: [] });
  registry.goodbye('b', 'b-1');
  registry.disconnected('b', 'b-1');
  expect(registry.gateways).toHaveLength(2);
  registry.goodbye('b', 'b-2');
  expect(registry.gateways).toHaveLength(1);
});

test('a gateway that the leader before knew is waited for until it acknowledges or is forgotten', () => {
  registry.expect(['a', 'b']);
  ack('a', 1);
  expect(registry.programmed('Endpoint/e', 1)).toEqual({ kind: 'waiting', gateways: ['b'], known: 2 });
  registry.connected('b', 'b-1');
  expect(registry.programmed('Endpoint/e', 1).kind).toBe('waiting');
  ack('b', 1);
  expect(registry.programmed('Endpoint/e', 1)).toEqual({ kind: 'programmed' });
  expect(known).toEqual([]);
  registry.expect(['gone']);
  vi.advanceTimersByTime(1_000);
  expect(registry.programmed('Endpoint/e', 1)).toEqual({ kind: 'programmed' });
  expect(known).toEqual([['a', 'b']]);
});

test('the names of the known gateways are told when one joins or leaves', () => {
  ack('b', 1);
  ack('a', 1);
  registry.goodbye('b', 'b-1');
  expect(known).toEqual([['b'], ['a', 'b'], ['a']]);
});
