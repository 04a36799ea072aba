import { pino } from 'pino';
import { Registry } from 'prom-client';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { DesiredState } from '../desired-state.ts';
import { MemorySource } from '../memory-source.testing.ts';
import { Translator } from '../translate/index.ts';
import { SETTINGS } from '../translate/translator.testing.ts';
import { AccountKeyController } from './account-key-controller.ts';

const logger = pino({ level: 'silent' });
let source: MemorySource;
let translator: Translator;
let desired: DesiredState;

beforeEach(() => {
  source = new MemorySource();
  translator = new Translator(SETTINGS);
  const ignore = (): void => undefined;
  desired = new DesiredState({
    translator,
    holdOffMs: 1,
    logger,
    onSeen: ignore,
    onChanges: ignore,
    onRemoved: ignore,
    onProblems: ignore,
  });
  onTestFinished(() => desired.close());
});

/** Returns the controller of a new leader, which has prepared its term. */
const prepared = async (): Promise<AccountKeyController> => {
  desired.flush();
  const controller = new AccountKeyController({
    objects: source.objects,
    secrets: source.secrets,
    events: source.events,
    cache: desired.cache,
    desired,
    translator,
    pollMs: 1_000,
    logger,
    registry: new Registry(),
  });
  onTestFinished(() => controller.stop());
  await controller.prepare(new AbortController().signal);
  return controller;
};

const putAccount = (name: string): string => {
  const account = source.put('Account', name, { plan: 'Free' });
  desired.put(account);
  return account.metadata.uid;
};
const publishedKey = (uid: string): string | undefined => {
  const published = translator.published(`Account/${uid}`);
  return published?.kind === 'Account' ? published.keySha256 : undefined;
};

test('a new leader does not read the content of an Account beyond the limit of its namespace', async () => {
  const within = putAccount('within');
  const { metadata } = source.put('Account', 'beyond', { plan: 'Free' });
  desired.put({ ...source.object('Account', 'beyond'), spec: undefined, isBeyondLimit: true });
  const controller = await prepared();
  expect(desired.cache.get(metadata.uid)).toMatchObject({ spec: undefined, isBeyondLimit: true });
  expect(translator.verdict(metadata.uid)?.accepted.reason).toBe('LimitReached');
  controller.start();
  await vi.waitFor(() => expect(controller.known(within)).toBeDefined());
  expect([...source.secretData.keys()]).toEqual(['default/within-api-key']);
});

test('a new leader writes no Secret before it leads, and does not accept a key whose Secret is missing', async () => {
  const kept = putAccount('kept');
  const lost = putAccount('lost');
  source.secretData.set('default/kept-api-key', { 'api-key': 'k'.repeat(32) });
  // The key of an earlier term of this leader.
  desired.setKey(lost, { kind: 'key', sha256: 'a'.repeat(64) });
  const controller = await prepared();
  expect([...source.secretData.keys()]).toEqual(['default/kept-api-key']);
  expect([publishedKey(kept), publishedKey(lost)]).toEqual([expect.any(String), undefined]);
  expect(controller.isComplete()).toBe(false);

  controller.start();
  await vi.waitFor(() => expect(publishedKey(lost)).toEqual(expect.any(String)));
  expect(publishedKey(lost)).not.toBe('a'.repeat(64));
  expect(controller.isComplete()).toBe(true);
});

test('a new leader keeps no Account that was deleted or created again', async () => {
  const earlier = [putAccount('deleted'), putAccount('created-again')];
  for (const name of ['deleted', 'created-again']) source.remove('Account', name);
  const { metadata } = source.put('Account', 'created-again', { plan: 'Free' });
  await prepared();
  expect(earlier.map((uid) => desired.cache.get(uid))).toEqual([undefined, undefined]);
  expect(desired.cache.get(metadata.uid)).toMatchObject({ metadata });
});
