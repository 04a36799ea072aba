import { keyFingerprint } from '@standin/contract';
import { expect, test } from 'vitest';
import type { KnownKey } from '../keys/account-keys.ts';
import type { Verdict } from '../translate/index.ts';
import { isSameKey, statusFields } from './status-fields.ts';

const NOW = '2026-11-21T10:00:00Z';
const EARLIER = '2026-11-20T10:00:00Z';
const SHA256 = 'ab'.repeat(32);

const verdict = (kind: Verdict['ref']['kind']): Verdict => ({
  ref: { kind, namespace: 'default', name: 'a' },
  ...{ uid: 'uid', generation: 1, configKey: undefined, status: {} },
  accepted: { ok: true, reason: 'Accepted', message: '' },
  resolvedRefs: { ok: true, reason: 'ResolvedRefs', message: '' },
});

const fieldsOf = (kind: Verdict['ref']['kind'], key?: KnownKey['key'], before: Record<string, unknown> = {}) =>
  statusFields({
    translator: { endpointsOf: () => ['a', 'b', 'c'] },
    counts: { isReady: (uid) => uid !== 'b' },
    key: () => key && { secretName: 'own', key },
  })(verdict(kind), before, NOW);

test('an Account shows the fingerprint of its key, never the digest, and since when', () => {
  const fields = fieldsOf('Account', { kind: 'key', sha256: SHA256 });
  expect(fields).toEqual({ apiKey: { secretName: 'own', fingerprint: keyFingerprint(SHA256), issuedAt: NOW } });
  expect(JSON.stringify(fields)).not.toContain(SHA256);
});

test('a key that stays keeps its time of issue, another one does not', () => {
  const before = { apiKey: { fingerprint: keyFingerprint(SHA256), issuedAt: EARLIER } };
  expect(fieldsOf('Account', { kind: 'key', sha256: SHA256 }, before)).toMatchObject({ apiKey: { issuedAt: EARLIER } });
  const other = fieldsOf('Account', { kind: 'key', sha256: 'cd'.repeat(32) }, before);
  expect(other).toMatchObject({ apiKey: { issuedAt: NOW } });
  expect(isSameKey(before, other)).toBe(false);
  expect(isSameKey({}, {})).toBe(true);
});

test.each([{ kind: 'missing', secretName: 'own' } as const, undefined])(
  'without a key (%j) there is none to show',
  (key) => {
    expect(fieldsOf('Account', key)).toEqual({ apiKey: undefined });
  },
);

test('a Project counts its endpoints, an Endpoint has nothing to add', () => {
  expect(fieldsOf('Project')).toEqual({ endpoints: { total: 3, ready: 2 } });
  expect(fieldsOf('Endpoint')).toEqual({});
});
