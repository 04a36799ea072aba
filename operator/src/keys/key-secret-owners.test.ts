import { SourceError } from '@standin/contract';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import type { Verdict } from '../translate/index.ts';
import { KeySecretOwners } from './key-secret-owners.ts';

const OK = { ok: true, reason: 'Accepted', message: '' } as const;
const ACCOUNTS = ['one', 'own', 'two'] as const;

let source: MemorySource;
let controller: KeySecretOwners;
/** The Secrets for which `releaseSecret` was called, and how many of the calls ran at the same time. */
let released: string[];
let running: number;
let runningMax: number;
/** Returns the promise that each call waits for. */
let disturb: (name: string) => Promise<unknown>;

beforeEach(() => {
  source = new MemorySource();
  released = [];
  running = runningMax = 0;
  disturb = () => Promise.resolve();
  source.disturb = async (call, name) => {
    if (call !== 'releaseSecret') return;
    runningMax = Math.max(runningMax, (running += 1));
    released.push(name);
    await disturb(name).finally(() => (running -= 1));
  };
  const accounts = ACCOUNTS.map((name) => source.put('Account', name, {}));
  const objects = new Map(
    [...accounts, source.put('Project', 'shop', {})].map((object) => [object.metadata.uid, object]),
  );
  controller = new KeySecretOwners({
    ...{ source, objects, logger: pino({ level: 'silent' }), registry: new Registry() },
    owner: (uid) => {
      const account = objects.get(uid);
      const name = account?.metadata.name;
      return account && { account, secretName: `${name ?? ''}-api-key`, generated: name !== 'own' };
    },
  });
});
afterEach(() => controller.stop());

test('generated keys are released one at a time, without delaying the start', async () => {
  const blocked = Promise.withResolvers<undefined>();
  disturb = () => blocked.promise;
  controller.start();
  await vi.waitFor(() => expect(released).toEqual(['one-api-key']));
  blocked.resolve(undefined);
  await vi.waitFor(() => expect(released).toEqual(['one-api-key', 'two-api-key']));
  expect(runningMax).toBe(1);
});

test('a failed release is tried again', async () => {
  let failures = 1;
  disturb = () => (failures-- > 0 ? Promise.reject(new SourceError('Conflict', 'it changed')) : Promise.resolve());
  controller.start();
  await vi.waitFor(() => expect(released).toEqual(['one-api-key', 'two-api-key', 'one-api-key']), { timeout: 5_000 });
});

test('a key whose Account appears later is released', async () => {
  const verdict = (uid: string, generated: boolean): Verdict => ({
    ...{ uid, ref: { kind: 'Account', namespace: 'default', name: 'later' }, generation: 1, configKey: undefined },
    ...{ accepted: OK, resolvedRefs: OK, status: {}, keySecret: { secretName: 'later-api-key', generated } },
  });
  controller.translated({ verdicts: [verdict('uid-2', false), verdict('uid-3', true)] });
  await vi.waitFor(() => expect(released).toEqual(['two-api-key']));
});

test('nothing is released after the term', async () => {
  const blocked = Promise.withResolvers<undefined>();
  disturb = () => blocked.promise;
  controller.start();
  await vi.waitFor(() => expect(released).toEqual(['one-api-key']));
  const stopped = controller.stop();
  blocked.resolve(undefined);
  await stopped;
  expect(released).toEqual(['one-api-key']);
});
