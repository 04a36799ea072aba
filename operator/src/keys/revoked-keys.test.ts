import { keyFingerprint, type AccountConfig, type ResourceObject } from '@standin/contract';
import { beforeEach, expect, test } from 'vitest';
import type { ProgrammedState } from '../publish/gateway-registry.ts';
import { RevokedKeys } from './revoked-keys.ts';

const KEY = 'Account/u';
const [OLD, NEW] = ['a'.repeat(64), 'b'.repeat(64)] as const;
const WAITING: ProgrammedState = { kind: 'waiting', gateways: ['lost'], known: 2, unheard: false };

let state: ProgrammedState;
let revoked: RevokedKeys;

beforeEach(() => {
  state = WAITING;
  revoked = new RevokedKeys(() => state);
});

const account = (keySha256: string | undefined): AccountConfig => {
  const config = { kind: 'Account', uid: 'u', namespace: 'n', name: 'a', plan: 'Free' } as const;
  return keySha256 === undefined ? config : { ...config, keySha256 };
};
/** An Account with a status from the previous leader. */
const resource = (digest: string | undefined, programmed: 'True' | 'False'): ResourceObject => ({
  ...{ apiVersion: 'standin.dev/v1alpha1', kind: 'Account', spec: {} },
  metadata: { name: 'a', namespace: 'n', uid: 'u', generation: 1, resourceVersion: '1', creationTimestamp: '' },
  status: {
    ...(digest === undefined ? {} : { apiKey: { fingerprint: keyFingerprint(digest) } }),
    conditions: [
      {
        ...{ type: 'Programmed', status: programmed, reason: 'Programmed', message: 'm' },
        ...{ observedGeneration: 1, lastTransitionTime: '2026-11-21T12:00:00Z' },
      },
    ],
  },
});
const begin = (before: ResourceObject, keySha256: string | undefined): void =>
  revoked.begin([account(keySha256)], new Map([['u', before]]));

test.each([
  ['is on all gateways', resource(OLD, 'True'), OLD, undefined],
  ['is not on all gateways yet', resource(OLD, 'False'), OLD, WAITING],
  ['was replaced while nobody led', resource(OLD, 'True'), NEW, WAITING],
  ['was withdrawn while nobody led', resource(OLD, 'True'), undefined, WAITING],
  ['is the first one', resource(undefined, 'False'), NEW, undefined],
])('at the beginning of a term, a key that %s', (_what, before, digest, expected) => {
  begin(before, digest);
  expect(revoked.state(KEY)).toEqual(expected);
});

test.each([
  ['replaced', [NEW]],
  ['withdrawn', [undefined]],
  ['withdrawn, then another comes', [undefined, NEW]],
])('one that is %s counts until no gateway accepts it any more', (_what, digests) => {
  begin(resource(OLD, 'True'), OLD);
  for (const digest of digests) revoked.published([account(digest)]);
  expect([revoked.progress(), revoked.state(KEY)]).toEqual([[], WAITING]);
  state = { kind: 'programmed' };
  expect(revoked.progress()).toEqual([KEY]);
  // Gateways that are lost after this have the new key.
  state = WAITING;
  expect([revoked.progress(), revoked.state(KEY)]).toEqual([[], undefined]);
});

test('an Account that changes and keeps its key waits for nobody who is lost', () => {
  begin(resource(OLD, 'True'), OLD);
  revoked.published([{ ...account(OLD), plan: 'Pro' }]);
  expect(revoked.state(KEY)).toBeUndefined();
});

test('an own key is not programmed by what was said of it in another term', () => {
  begin(resource(OLD, 'False'), OLD);
  state = { ...WAITING, unheard: true };
  expect(revoked.state(KEY)).toEqual(WAITING);
});
