import { keyFingerprint, type AccountConfig, type EndpointConfig, type ResourceObject } from '@standin/contract';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ProgrammedState } from '../gateways/gateway-record.ts';
import { GatewayStates } from '../gateways/gateway-states.ts';
import { KeyChanges } from './key-changes.ts';

const KEY = 'Account/u';
const [OLD, NEW] = ['a'.repeat(64), 'b'.repeat(64)] as const;
const FORGET_MS = 1_000;
const WAITING: ProgrammedState = { kind: 'waiting', gateways: ['lost'], known: 2, unheard: false };
const PROGRAMMED: ProgrammedState = { kind: 'programmed' };

let now: number;
/** Number of the revision that last put the Account. */
let since: number;
let states: GatewayStates;

beforeEach(() => {
  now = 0;
  since = 1;
  states = new GatewayStates({ epoch: 1, forgetMs: FORGET_MS });
  lose('lost');
  states.connected({ name: 'a', maxStalenessMs: 0 }, 'i', () => undefined, now);
  acknowledge();
});

const lose = (name: string): void => {
  states.remember([{ name, maxStalenessMs: 0 }], now);
  now += FORGET_MS;
  states.advance(now);
};
/** Acknowledges the last revision as the connected gateway. Returns the affected objects. */
const acknowledge = (): readonly string[] | undefined =>
  states.acknowledged({ gateway: 'a', instance: 'i', revision: `1.${since}`, rejected: [] }, now)?.progress;
const state = (): ProgrammedState => states.programmed(KEY, since);

const account = (keySha256: string | undefined): AccountConfig => {
  const config = { kind: 'Account', uid: 'u', namespace: 'n', name: 'a', plan: 'Free' } as const;
  return keySha256 === undefined ? config : { ...config, keySha256 };
};
/** Returns an Account with a status from the previous leader. */
const resource = (digest: string | undefined, programmed: 'True' | 'False'): ResourceObject => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind: 'Account',
  spec: {},
  metadata: { name: 'a', namespace: 'n', uid: 'u', generation: 1, resourceVersion: '1', creationTimestamp: '' },
  status: {
    ...(digest === undefined ? {} : { apiKey: { fingerprint: keyFingerprint(digest) } }),
    conditions: [
      {
        type: 'Programmed',
        status: programmed,
        reason: 'Programmed',
        message: 'm',
        observedGeneration: 1,
        lastTransitionTime: '2026-11-21T12:00:00Z',
      },
    ],
  },
});
const start = (before: ResourceObject, keySha256: string | undefined): KeyChanges => {
  const revocations = new KeyChanges({
    translator: { objects: () => [account(keySha256)].values() },
    cache: new Map([['u', before]]),
    gateways: {
      revoke: (key) => states.revoke(key, since),
      cancelRevocation: (key) => states.cancelRevocation(key),
    },
  });
  revocations.start();
  return revocations;
};

test.each([
  ['is on all gateways', resource(OLD, 'True'), OLD, PROGRAMMED],
  ['is not on all gateways yet', resource(OLD, 'False'), OLD, WAITING],
  ['was replaced while no operator led', resource(OLD, 'True'), NEW, WAITING],
  ['was withdrawn while no operator led', resource(OLD, 'True'), undefined, WAITING],
  ['is the account’s first key', resource(undefined, 'False'), NEW, PROGRAMMED],
])('the start of a term restores the state of a key that %s', (_what, before, digest, expected) => {
  start(before, digest);
  expect(state()).toEqual(expected);
});

test.each([
  ['replaced', [NEW]],
  ['withdrawn', [undefined]],
  ['withdrawn, then replaced', [undefined, NEW]],
])('a key that was %s counts until no gateway accepts it', (_what, digests) => {
  const revocations = start(resource(OLD, 'True'), OLD);
  for (const digest of digests) {
    since += 1;
    revocations.translated({ put: [account(digest)], remove: [] });
  }
  expect([acknowledge(), state()]).toEqual([[], WAITING]);
  expect(states.gone('lost').progress).toEqual([KEY]);
  // Gateways that are lost after this point have the new key.
  lose('late');
  expect(state()).toEqual(PROGRAMMED);
  since += 1;
  expect([acknowledge(), state()]).toEqual([[], PROGRAMMED]);
});

test('a change that keeps an Account’s key does not wait for lost gateways', () => {
  const revocations = start(resource(OLD, 'True'), OLD);
  revocations.translated({ put: [{ ...account(OLD), plan: 'Pro' }], remove: [] });
  expect(state()).toEqual(PROGRAMMED);
});

test('a revoked key does not count as programmed just because an earlier leader reported it', () => {
  start(resource(OLD, 'False'), OLD);
  states.remember([{ name: 'new', maxStalenessMs: 0 }], now);
  states.gone('lost');
  states.goodbye('a', 'i');
  const waiting = { kind: 'waiting', gateways: ['new'], known: 1, unheard: false };
  expect([states.revoked(KEY, since), state()]).toEqual([{ ...waiting, unheard: true }, waiting]);
});

test('a deleted Account does not wait for gateways', () => {
  const before = resource(OLD, 'False');
  start(before, OLD).removed(before);
  expect(state()).toEqual(PROGRAMMED);
});

const JSON_ACTION = { kind: 'JSON', status: 200, headers: [], body: '{}' } as const;
const verifying = (secretIds: readonly string[]) => ({
  action: JSON_ACTION,
  credential: { kind: 'Signature', signature: { scheme: 'GitHub' }, secretIds } as const,
});
const sending = (secretIds: readonly string[]): Pick<EndpointConfig, 'action'> => {
  const upstream = { kind: 'Forward', url: 'https://api.example.com', timeoutMs: 1_000, viaService: false } as const;
  const secretHeaders = secretIds.map((secretId) => ({ name: 'authorization', secretId }));
  return { action: secretIds.length === 0 ? upstream : { ...upstream, secretHeaders } };
};

describe.each(['signingSecrets', 'upstreamSecrets'] as const)('an Endpoint’s secret (%s)', (field) => {
  const ENDPOINT = 'Endpoint/e';
  const toId = (version: string): string => `n/gh/current@${version}`;
  const endpoint = (...versions: string[]): EndpointConfig => ({
    kind: 'Endpoint',
    uid: 'e',
    namespace: 'n',
    name: 'e',
    projectUid: 'p',
    generation: 1,
    slug: '/',
    method: 'POST',
    ...(field === 'signingSecrets' ? verifying(versions.map(toId)) : sending(versions.map(toId))),
  });
  const reporting = (versions: readonly string[], programmed: 'True' | 'False'): ResourceObject => {
    const { status, metadata, ...rest } = resource(undefined, programmed);
    const secrets = versions.map((version) => ({ name: 'gh', key: 'current', version }));
    return {
      ...rest,
      kind: 'Endpoint',
      metadata: { ...metadata, uid: 'e' },
      status: { ...(status as object), ...(versions.length > 0 && { [field]: secrets }) },
    };
  };
  const begin = (before: ResourceObject, ...published: EndpointConfig[]): KeyChanges => {
    const changes = new KeyChanges({
      translator: { objects: () => published.values() },
      cache: new Map([['e', before]]),
      gateways: {
        revoke: (key) => states.revoke(key, since),
        cancelRevocation: (key) => states.cancelRevocation(key),
      },
    });
    changes.start();
    return changes;
  };
  const waits = (): boolean => states.withdrawn(ENDPOINT) !== undefined;

  test.each([
    ['is on all gateways', reporting(['1'], 'True'), [endpoint('1')], false],
    ['is on all gateways, and a new one is not', reporting(['1'], 'True'), [endpoint('2', '1')], false],
    ['is not on all gateways yet', reporting(['1'], 'False'), [endpoint('1')], true],
    ['was replaced while no operator led', reporting(['1'], 'True'), [endpoint('2')], true],
    ['was removed while no operator led', reporting(['1'], 'True'), [endpoint()], true],
    ['was withdrawn with its endpoint', reporting(['1'], 'False'), [], true],
    ['is the first one', reporting([], 'False'), [endpoint('1')], false],
  ])('that %s is restored at the start of a term', (_what, before, published, expected) => {
    begin(before, ...published);
    expect(waits()).toBe(expected);
  });

  test.each([
    ['replaced', { put: [endpoint('2')], remove: [] }, true],
    ['removed', { put: [endpoint()], remove: [] }, true],
    ['withdrawn with its endpoint', { put: [], remove: [ENDPOINT] }, true],
    ['joined by another one', { put: [endpoint('2', '1')], remove: [] }, false],
  ])('that is %s counts until no gateway accepts it', (_what, change, expected) => {
    const changes = begin(reporting(['1'], 'True'), endpoint('1'));
    since += 1;
    changes.translated(change);
    acknowledge();
    expect(waits()).toBe(expected);
    states.gone('lost');
    expect(waits()).toBe(false);
  });

  test('does not count after its Endpoint is deleted', () => {
    const before = reporting(['1'], 'False');
    begin(before, endpoint('1')).removed(before);
    expect(waits()).toBe(false);
  });
});

test('a secret that an Endpoint uses twice is revoked for one of the two uses', () => {
  const endpoint = (secrets: Pick<EndpointConfig, 'action' | 'credential'>): EndpointConfig => ({
    kind: 'Endpoint',
    uid: 'e',
    namespace: 'n',
    name: 'e',
    projectUid: 'p',
    generation: 1,
    slug: '/',
    method: 'POST',
    ...secrets,
  });
  const revoked: string[] = [];
  const changes = new KeyChanges({
    translator: { objects: () => [].values() },
    cache: new Map(),
    gateways: { revoke: (key) => revoked.push(key), cancelRevocation: () => undefined },
  });
  const ids = ['n/gh/current@1'];
  changes.translated({ put: [endpoint({ ...verifying(ids), ...sending(ids) })], remove: [] });
  expect(revoked).toEqual([]);
  changes.translated({ put: [endpoint(sending(ids))], remove: [] });
  expect(revoked).toEqual(['Endpoint/e']);
});
