import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { GatewayController } from './gateway-controller.ts';
import type { KnownGateway } from './gateway-record.ts';

const FORGET_MS = 20_000;
const LOOK_UP_MS = 2_000;
const A: KnownGateway = { name: 'a', maxStalenessMs: 0 };
const B: KnownGateway = { name: 'b', maxStalenessMs: 0 };

let written: (readonly KnownGateway[])[];
/** A write waits for this promise. */
let writing: Promise<void>;
/** Names of the gateways that are running, according to the platform. */
let running: Set<string>;
let refusal: Error | undefined;
let changes: number;
let gateways: GatewayController;

const start = async (): Promise<void> => {
  gateways = new GatewayController({
    epoch: 1,
    forgetMs: FORGET_MS,
    logger: pino({ level: 'silent' }),
    memory: {
      read: () => Promise.resolve([A]),
      write: async (all) => {
        await writing;
        written.push(all);
      },
    },
    isGone: (name) => (refusal === undefined ? Promise.resolve(!running.has(name)) : Promise.reject(refusal)),
    since: () => 1,
    revision: () => 1,
    onChange: () => (changes += 1),
  });
  await gateways.prepare();
};

beforeEach(() => {
  written = [];
  writing = Promise.resolve();
  running = new Set(['a', 'b']);
  refusal = undefined;
  changes = 0;
});
afterEach(async () => {
  await gateways.stop();
  vi.useRealTimers();
});

const connect = (gateway: KnownGateway, instance = `${gateway.name}-1`, cut = (): void => undefined): (() => void) =>
  gateways.connected(gateway, instance, cut);

describe('when gateways are stored', () => {
  beforeEach(start);

  test('a gateway from the previous leader is already stored', async () => {
    await gateways.stored('a');
    expect(written).toEqual([]);
  });

  test.each<[string, readonly KnownGateway[], KnownGateway]>([
    ['a new gateway', [], B],
    [
      'a gateway that answers longer than before',
      [{ name: 'b', maxStalenessMs: 5_000 }],
      { name: 'b', maxStalenessMs: 7_000 },
    ],
  ])('%s is stored when the write succeeds, after any number of failures', async (_what, before, gateway) => {
    for (const earlier of before) connect(earlier, 'b-0');
    await gateways.stored('b');
    written = [];
    writing = Promise.reject(new Error('no API server'));
    writing.catch(() => undefined);
    connect(gateway);
    let isStored = false;
    const stored = gateways.stored(gateway.name).then(() => (isStored = true));
    await expect(writing).rejects.toThrow();
    expect(isStored).toBe(false);
    writing = Promise.resolve();
    await stored;
    expect(written).toEqual([[A, gateway]]);
  });

  test('a gateway that is waiting when the term ends gets an error', async () => {
    const going = Promise.withResolvers<undefined>();
    writing = going.promise.then(() => undefined);
    connect(B);
    const stored = gateways.stored('b');
    const stopping = gateways.stop();
    await expect(stored).rejects.toThrow('lost leadership');
    await expect(gateways.stored('c')).resolves.toBeUndefined();
    connect({ name: 'c', maxStalenessMs: 0 });
    await expect(gateways.stored('c')).rejects.toThrow('lost leadership');
    going.resolve(undefined);
    await stopping;
  });
});

describe('as time passes', () => {
  beforeEach(async () => {
    vi.useFakeTimers();
    await start();
  });
  const waiting = (names: string[], known: number) => ({ kind: 'waiting', gateways: names, known, unheard: false });
  const revoked = () => gateways.revoked('Account/t');

  test('a silent gateway is disconnected', async () => {
    const cut = vi.fn();
    connect(A, 'a-1', cut);
    await vi.advanceTimersByTimeAsync(60_000 - 1);
    expect(cut).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(cut).toHaveBeenCalledOnce();
  });

  test('a revocation waits for a lost gateway only while it is running', async () => {
    await vi.advanceTimersByTimeAsync(FORGET_MS + 10 * LOOK_UP_MS);
    expect([revoked(), gateways.answeringCount]).toEqual([waiting(['a'], 1), 1]);
    await vi.advanceTimersByTimeAsync(LOOK_UP_MS / 2);
    running.delete('a');
    const before = changes;
    expect(gateways.answeringCount).toBe(1);
    await vi.advanceTimersByTimeAsync(LOOK_UP_MS);
    expect([revoked(), gateways.answeringCount, changes]).toEqual([{ kind: 'no-gateway' }, 0, before + 1]);
    expect(written.at(-1)).toEqual([]);
  });

  test('a lost gateway counts as running while its state is unknown', async () => {
    refusal = new Error('cannot get resource "pods"');
    running.clear();
    await vi.advanceTimersByTimeAsync(FORGET_MS + 3 * LOOK_UP_MS);
    const before = changes;
    expect(gateways.answeringCount).toBe(1);
    refusal = undefined;
    await vi.advanceTimersByTimeAsync(LOOK_UP_MS);
    expect([gateways.answeringCount, changes]).toEqual([0, before + 1]);
  });

  test('a lost gateway is not looked up after it connects', async () => {
    await vi.advanceTimersByTimeAsync(FORGET_MS);
    connect(A);
    running.clear();
    const before = changes;
    await vi.advanceTimersByTimeAsync(2 * LOOK_UP_MS);
    expect([gateways.answeringCount, changes]).toEqual([1, before]);
  });
});
