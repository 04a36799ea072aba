import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KnownGateway } from './gateway-registry.ts';
import { RememberedGateways } from './remembered-gateways.ts';

let gateways: readonly KnownGateway[];
let written: (readonly KnownGateway[])[];
/** A write waits for this promise. */
let writing: Promise<void>;
let remembered: RememberedGateways;

beforeEach(async () => {
  gateways = [{ name: 'a', maxStalenessMs: 0 }];
  written = [];
  writing = Promise.resolve();
  remembered = new RememberedGateways({
    memory: {
      read: () => Promise.resolve(gateways),
      write: async (all) => {
        await writing;
        written.push(all);
      },
    },
    gateways: () => gateways,
    logger: pino({ level: 'silent' }),
  });
  await remembered.read();
});
afterEach(() => remembered.stop());

const change = (...all: KnownGateway[]): void => {
  gateways = all;
  remembered.changed();
};

test('one that the leader before wrote down is remembered already', async () => {
  await remembered.has('a');
  expect(written).toEqual([]);
});

test.each<[string, KnownGateway]>([
  ['a new one', { name: 'b', maxStalenessMs: 0 }],
  ['one that answers longer than before', { name: 'a', maxStalenessMs: 7_000 }],
])('%s is remembered when it is written, however often that fails first', async (_what, gateway) => {
  writing = Promise.reject(new Error('no API server'));
  writing.catch(() => undefined);
  change(gateway);
  let isRemembered = false;
  const has = remembered.has(gateway.name).then(() => (isRemembered = true));
  await expect(writing).rejects.toThrow();
  expect(isRemembered).toBe(false);
  writing = Promise.resolve();
  await has;
  expect(written).toEqual([[gateway]]);
});

test('whoever waits when the term ends is told so', async () => {
  const going = Promise.withResolvers<undefined>();
  writing = going.promise.then(() => undefined);
  change({ name: 'b', maxStalenessMs: 0 });
  const has = remembered.has('b');
  const stopping = remembered.stop();
  await expect(has).rejects.toThrow('stopped leading');
  await expect(remembered.has('c')).resolves.toBeUndefined();
  change({ name: 'c', maxStalenessMs: 0 });
  await expect(remembered.has('c')).rejects.toThrow('stopped leading');
  going.resolve(undefined);
  await stopping;
});
