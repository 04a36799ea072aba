import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { configKey, LIMITS, objectRef, SourceError, type ResourceObject } from '@standin/contract';
import { conditionsIn, progressIn } from '@standin/crds';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { cpuMs } from '@standin/contract/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import type { Verdict } from '../translate/index.ts';
import type { Controller } from '../controller.ts';
import { keyRegenerationController } from './key-regeneration-controller.ts';

const SPEC = { accountRef: { name: 'team' } };
const NOW = Date.UTC(2026, 10, 21, 12);
/** The creation time that `MemorySource` gives to objects, to within a minute. */
const CREATED = Date.UTC(2026, 0, 1);
const OLD = 'standin_the-old-key-that-everybody-knows-by-now';

let source: MemorySource;
let regenerations: Controller | undefined;
let now: number;
let account: ResourceObject;
/** The published digest, and the gateways that have not acknowledged it. */
let published: string | undefined;
let waiting: readonly string[];
let isGenerated: boolean;
/** Whether the Account is valid. */
let isValid: boolean;
/** Whether the key in the Secret can be published. */
let isKeyValid: boolean;
let reads: number;
/** How often the state of the key at the gateways was looked up. */
let looks: number;
/** Called when the source has reported an object. */
let onPut: (object: ResourceObject) => void;

/** Starts a leader's term. */
const begin = (): Controller => {
  const started = keyRegenerationController({
    objects: source.objects,
    secrets: source.secrets,
    events: source.events,
    cache: source.cache,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    clock: () => now,
    owner: (uid) =>
      isValid && uid === account.metadata.uid
        ? { account, secretName: 'team-api-key', generated: isGenerated }
        : undefined,
    readSoon: () => {
      reads += 1;
      if (isKeyValid) published = digest();
    },
    programmed: (_, sha256) => {
      looks += 1;
      if (sha256 !== published) return undefined;
      return waiting.length === 0
        ? { kind: 'programmed' }
        : { kind: 'waiting', gateways: waiting, known: 3, unheard: false };
    },
    gatewayCount: () => 3,
  });
  started.start?.();
  return started;
};

const key = (): string => source.secretData.get('default/team-api-key')?.['api-key'] ?? '';
const digest = (): string => createHash('sha256').update(key()).digest('hex');
const readStatus = (name: string): Record<string, unknown> =>
  (source.object('KeyRegeneration', name).status ?? {}) as Record<string, unknown>;
const apiKey = (): { regenerations?: string[]; regenerating?: unknown; windowResetsAt?: string } =>
  (source.object('Account', 'team').status as { apiKey?: object } | undefined)?.apiKey ?? {};
const expectPhase = (name: string, phase: string): Promise<void> =>
  expect.poll(() => readStatus(name)['phase'], { timeout: 5_000 }).toBe(phase);
/** Reports that gateways have replaced the key. */
const acknowledge = (): void =>
  regenerations?.gatewaysChanged?.([configKey({ kind: 'Account', uid: account.metadata.uid })]);
const progress = (name: string) => progressIn(conditionsIn(source.object('KeyRegeneration', name).status));

beforeEach(async () => {
  regenerations = undefined;
  now = NOW;
  waiting = [];
  isGenerated = true;
  isValid = true;
  isKeyValid = true;
  reads = 0;
  looks = 0;
  onPut = () => undefined;
  source = new MemorySource();
  source.secretData.set('default/team-api-key', { 'api-key': OLD });
  published = digest();
  account = source.put('Account', 'team', {});
  await source.follow(() => ({
    name: 'term',
    changed: (object, before) => {
      regenerations?.changed?.(object, before);
      onPut(object);
    },
    removed: (object) => regenerations?.removed?.(object),
  }));
  regenerations = begin();
});
afterEach(() => regenerations?.stop?.());

it('an Account with thousands of ended KeyRegenerations is reported quickly', async () => {
  const condition = { status: 'False', reason: 'LimitReached', message: 'The key was regenerated 6 times.' };
  const conditions = ['Accepted', 'Ready', 'Stalled'].map((type) => ({
    ...condition,
    type,
    observedGeneration: 1,
    lastTransitionTime: '2026-11-21T12:00:00Z',
  }));
  for (let index = 0; index < 5_000; index += 1)
    source.put('KeyRegeneration', `ended-${index}`, SPEC, { observedGeneration: 1, phase: 'Refused', conditions });
  const MS_MAX = 3;
  expect(cpuMs(() => regenerations?.changed?.(account, account), MS_MAX)).toBeLessThan(MS_MAX);
  await regenerations?.stop?.();
});

describe('a KeyRegeneration', () => {
  it('replaces the key, is counted, and releases the account', async () => {
    source.put('KeyRegeneration', 'one', SPEC);
    await expectPhase('one', 'Completed');
    expect(key()).toMatch(/^standin_[0-9A-Za-z]{49}$/);
    expect(published).toBe(digest());
    expect(readStatus('one')).toMatchObject({ acknowledged: '3/3', completedAt: '2026-11-21T12:00:00Z' });
    expect(progress('one')).toMatchObject({ type: 'Complete', status: 'True', reason: 'Succeeded' });
    await expect.poll(() => apiKey().regenerating).toBeUndefined();
    expect(apiKey()).toMatchObject({
      regenerations: ['2026-11-21T12:00:00.000Z'],
      windowResetsAt: '2026-11-21T13:00:00.000Z',
    });
    expect(source.recorded).toMatchObject([{ name: 'team', type: 'Normal', reason: 'KeyRegenerated' }]);
    expect(JSON.stringify([source.statusWrites, source.recorded])).not.toContain(key());
  });

  it('continues when its Account becomes valid, although the Account is not reported', async () => {
    now = Date.parse(account.metadata.creationTimestamp);
    isValid = false;
    source.put('KeyRegeneration', 'one', SPEC);
    await expectPhase('one', 'Pending');
    isValid = true;
    const { metadata } = account;
    const verdict = { ref: objectRef(account), uid: metadata.uid } as Verdict;
    regenerations?.translated?.({ put: [], remove: [], verdicts: [verdict] });
    await expectPhase('one', 'Completed');
  });

  it('is looked at ever later if its key cannot be published', async () => {
    isKeyValid = false;
    source.put('KeyRegeneration', 'one', SPEC);
    await expect.poll(() => reads, { timeout: 10_000 }).toBeGreaterThan(50);
    const soon = reads;
    await delay(1_000);
    // In this time, it would be looked at 50 times if the delay did not grow.
    expect(reads - soon).toBeLessThan(8);
    isKeyValid = true;
    await expectPhase('one', 'Completed');
  });

  it('waits for every gateway, and names those it is waiting for', async () => {
    waiting = ['gateway-1', 'gateway-2'];
    source.put('KeyRegeneration', 'one', SPEC);
    await expect.poll(() => readStatus('one')['waitingFor']).toEqual(['gateway-1', 'gateway-2']);
    expect(readStatus('one')).toMatchObject({ phase: 'Running', acknowledged: '1/3' });
    expect(progress('one')?.message).toBe('The old key may still be accepted by gateway-1 and gateway-2.');
    const replaced = key();
    waiting = ['gateway-2'];
    acknowledge();
    await expect.poll(() => readStatus('one')['acknowledged']).toBe('2/3');
    waiting = [];
    acknowledge();
    await expectPhase('one', 'Completed');
    expect(readStatus('one')['waitingFor']).toBeUndefined();
    expect(key()).toBe(replaced);
  });

  it('completes once, even before the source reports it', async () => {
    waiting = ['gateway-1'];
    source.put('KeyRegeneration', 'one', SPEC);
    await expect.poll(() => readStatus('one')['acknowledged']).toBe('2/3');
    source.isQuick = false;
    waiting = [];
    acknowledge();
    await expectPhase('one', 'Completed');
    now += 1_000;
    regenerations?.changed?.(account);
    await expect.poll(() => apiKey().regenerating).toBeUndefined();
    expect(readStatus('one')['completedAt']).toBe('2026-11-21T12:00:00Z');
    expect(source.recorded).toMatchObject([{ name: 'team', type: 'Normal', reason: 'KeyRegenerated' }]);
  });

  it('is rejected for an account with its own Secret, and changes nothing', async () => {
    isGenerated = false;
    source.put('KeyRegeneration', 'one', SPEC);
    await expectPhase('one', 'Refused');
    expect(conditionsIn(readStatus('one'))[0]).toMatchObject({ status: 'False', reason: 'ManagedElsewhere' });
    expect(key()).toBe(OLD);
    expect(apiKey().regenerations).toBeUndefined();
  });

  it('is rejected and not counted if the operator did not create the account’s Secret', async () => {
    source.put('KeyRegeneration', 'one', SPEC);
    await expectPhase('one', 'Completed');
    const before = key();
    const counted = apiKey().regenerations;
    source.disturb = (call) => {
      if (call === 'replaceSecret') throw new SourceError('Invalid', 'the operator did not create it');
    };
    source.put('KeyRegeneration', 'two', SPEC);
    await expectPhase('two', 'Refused');
    expect(conditionsIn(readStatus('two'))[0]).toMatchObject({ status: 'False', reason: 'ManagedElsewhere' });
    expect(key()).toBe(before);
    expect(apiKey()).toMatchObject({ regenerations: counted, windowResetsAt: '2026-11-21T13:00:00.000Z' });
    expect(apiKey().regenerating).toBeUndefined();
  });

  it('is refused after a day if its account does not exist', async () => {
    now = CREATED;
    source.put('KeyRegeneration', 'one', { accountRef: { name: 'nobody' } });
    await expectPhase('one', 'Pending');
    now += LIMITS.keyRegenerationWaitMsMax + 60_000;
    regenerations?.changed?.(source.object('KeyRegeneration', 'one'));
    await expectPhase('one', 'Refused');
    expect(conditionsIn(readStatus('one'))).toMatchObject([
      { type: 'Accepted', status: 'False', reason: 'AccountNotFound' },
      { type: 'Failed', status: 'True' },
      { type: 'Stalled', status: 'True' },
    ]);
  });

  it('waits for its account to be created', async () => {
    now = CREATED;
    source.put('KeyRegeneration', 'one', { accountRef: { name: 'later' } });
    await expectPhase('one', 'Pending');
    expect(conditionsIn(readStatus('one'))[0]).toMatchObject({ reason: 'AccountNotFound' });
    account = source.put('Account', 'later', {});
    await expectPhase('one', 'Completed');
  });

  it('is rejected after six within the hour, with the time when the next one is possible', async () => {
    for (let count = 1; count <= LIMITS.keyRegenerationsMax; count += 1) {
      source.put('KeyRegeneration', `number-${count}`, SPEC);
      await expectPhase(`number-${count}`, 'Completed');
      now += 60_000;
    }
    const sixth = key();
    source.put('KeyRegeneration', 'seventh', SPEC);
    await expectPhase('seventh', 'Refused');
    expect(readStatus('seventh')['windowResetsAt']).toBe('2026-11-21T13:00:00.000Z');
    expect(conditionsIn(readStatus('seventh'))[0]).toMatchObject({ reason: 'LimitReached' });
    expect(source.recorded.at(-1)).toMatchObject({ name: 'team', type: 'Warning', reason: 'LimitReached' });
    expect(key()).toBe(sixth);
    expect(apiKey().regenerations).toHaveLength(6);

    now = Date.parse('2026-11-21T13:00:00Z');
    source.put('KeyRegeneration', 'eighth', SPEC);
    await expectPhase('eighth', 'Completed');
    expect(apiKey().regenerations).toHaveLength(6);
  });

  it('runs after the previous one: of twenty created together, six replace the key, each once', async () => {
    const keys = new Set<string>();
    source.disturb = (call) => {
      if (call === 'readSecret') keys.add(key());
    };
    for (let number = 1; number <= 20; number += 1) source.put('KeyRegeneration', `at-once-${number}`, SPEC);
    const phases = (): unknown[] =>
      Array.from({ length: 20 }, (_, index) => readStatus(`at-once-${index + 1}`)['phase']).toSorted();
    await expect
      .poll(phases, { timeout: 20_000 })
      .toEqual([...Array<string>(6).fill('Completed'), ...Array<string>(14).fill('Refused')]);
    expect(keys.size).toBe(6);
    expect(apiKey().regenerations).toHaveLength(6);
  }, 30_000);

  it.each(['get', 'writeStatus', 'replaceSecret', 'readSecret'] as const)(
    'is completed once by the next leader after a crash at any %s',
    async (call) => {
      for (let crashAt = 1; crashAt <= 3; crashAt += 1) {
        const name = `crash-${crashAt}`;
        let calls = 0;
        const before = key();
        // After the crash, no call of the first leader succeeds.
        source.disturb = (made) => {
          if (made === call) calls += 1;
          if (calls >= crashAt) throw new SourceError('Unavailable', 'the operator crashed');
        };
        source.put('KeyRegeneration', name, SPEC);
        await expect.poll(() => calls >= crashAt || readStatus(name)['phase'] === 'Completed').toBe(true);
        await regenerations?.stop?.();
        source.disturb = () => undefined;
        regenerations = begin();
        await expectPhase(name, 'Completed');
        await expect.poll(() => apiKey().regenerating).toBeUndefined();
        expect(key()).not.toBe(before);
        expect(apiKey().regenerations).toHaveLength(crashAt);
      }
    },
    30_000,
  );

  // If waiting KeyRegenerations were checked, thousands of them for one account would read their predecessor every second.
  it('is not checked while it waits for its predecessor', async () => {
    waiting = ['gateway-1'];
    source.put('KeyRegeneration', 'one', SPEC);
    await expectPhase('one', 'Running');
    source.put('KeyRegeneration', 'two', SPEC);
    await expectPhase('two', 'Pending');
    const reads = { team: 0, one: 0 };
    source.disturb = (call, name) => {
      if (call === 'get' && (name === 'team' || name === 'one')) reads[name] += 1;
    };
    // The first KeyRegeneration checks its gateways once a second. Only the second KeyRegeneration would read the first.
    for (const names of [['gateway-2'], ['gateway-1', 'gateway-2']]) {
      waiting = names;
      await expect.poll(() => readStatus('one')['waitingFor'], { timeout: 5_000 }).toEqual(names);
    }
    expect(reads.team).toBeGreaterThan(1);
    expect(reads.one).toBe(0);
    waiting = [];
    acknowledge();
    await expectPhase('two', 'Completed');
  });

  // A tenant may have thousands of them, and gateways come, go and acknowledge all the time.
  it('reads nothing when gateways change, unless its own progress does', async () => {
    waiting = ['gateway-1'];
    source.put('KeyRegeneration', 'running', SPEC);
    await expect.poll(() => readStatus('running')['waitingFor']).toEqual(['gateway-1']);
    source.put('KeyRegeneration', 'waiting', SPEC);
    await expectPhase('waiting', 'Pending');
    // The source reports the last status, and the queue becomes idle.
    await delay(200);
    const calls: string[] = [];
    source.disturb = (call, name) => void calls.push(`${call} ${name}`);
    for (let change = 0; change < 10; change += 1) {
      acknowledge();
      await delay(5);
    }
    expect(calls).toEqual([]);
    // A key of another Account that gateways have replaced is no reason to look. The regeneration itself looks once a second.
    looks = 0;
    for (let change = 0; change < 10; change += 1) {
      regenerations?.gatewaysChanged?.([configKey({ kind: 'Account', uid: 'other' })]);
      await delay(5);
    }
    expect(looks).toBeLessThanOrEqual(1);
    // Nor does a change to another Account.
    regenerations?.changed?.({ ...account, metadata: { ...account.metadata, name: 'other', uid: 'other' } });
    await delay(50);
    expect(calls).toEqual([]);
    waiting = [];
    acknowledge();
    await expectPhase('running', 'Completed');
  });

  it('continues when its predecessor is deleted while running', async () => {
    waiting = ['gateway-1'];
    source.put('KeyRegeneration', 'one', SPEC);
    await expectPhase('one', 'Running');
    source.put('KeyRegeneration', 'two', SPEC);
    await expectPhase('two', 'Pending');
    source.remove('KeyRegeneration', 'one');
    waiting = [];
    await expectPhase('two', 'Completed');
    expect(apiKey().regenerations).toHaveLength(2);
  });

  it('runs although one with its name was deleted while running', async () => {
    waiting = ['gateway-1'];
    source.put('KeyRegeneration', 'one', SPEC);
    await expectPhase('one', 'Running');
    source.remove('KeyRegeneration', 'one');
    source.put('KeyRegeneration', 'one', SPEC);
    waiting = [];
    await expectPhase('one', 'Completed');
    expect(apiKey().regenerations).toHaveLength(2);
  });

  it('that is deleted while its status is written releases the account, although its gateways do not change', async () => {
    waiting = ['gateway-1'];
    const remove = (object: ResourceObject): void => {
      if (object.kind !== 'KeyRegeneration' || readStatus('one')['waitingFor'] === undefined) return;
      onPut = () => undefined;
      source.remove('KeyRegeneration', 'one');
    };
    onPut = remove;
    source.put('KeyRegeneration', 'one', SPEC);
    await expect.poll(() => source.has('KeyRegeneration', 'one')).toBe(false);
    await expect.poll(() => apiKey().regenerating).toBeUndefined();
  });

  it('that is deleted at its end releases the account', async () => {
    source.disturb = (call, name) => {
      if (call !== 'writeStatus' || name !== 'team' || !source.has('KeyRegeneration', 'one')) return;
      if (readStatus('one')['phase'] !== 'Completed') return;
      source.remove('KeyRegeneration', 'one');
      throw new SourceError('Unavailable', 'the API server is unavailable');
    };
    source.put('KeyRegeneration', 'one', SPEC);
    await expect.poll(() => source.has('KeyRegeneration', 'one')).toBe(false);
    await expect.poll(() => apiKey().regenerating).toBeUndefined();
    expect(apiKey().regenerations).toHaveLength(1);
  });
});
