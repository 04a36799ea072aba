import { keyFingerprint } from '@standin/contract';
import { expect, test } from 'vitest';
import type { QuotaUsage } from '../quota/usage.ts';
import type { KnownKey, Verdict } from '../translate/index.ts';
import { ReadyCounts, isSameKey, statusFields } from './status-fields.ts';

const NOW = '2026-11-21T10:00:00Z';
const EARLIER = '2026-11-20T10:00:00Z';
const SHA256 = 'ab'.repeat(32);

const verdict = (kind: Verdict['ref']['kind']): Verdict => ({
  ref: { kind, namespace: 'default', name: 'a' },
  uid: 'uid',
  generation: 1,
  configKey: undefined,
  status: {},
  accepted: { ok: true, reason: 'Accepted', message: '' },
  resolvedRefs: { ok: true, reason: 'ResolvedRefs', message: '' },
});

const resultingFields = (
  kind: Verdict['ref']['kind'],
  key?: KnownKey['key'],
  before: Record<string, unknown> = {},
  { quota, usage, lastRequestAt }: { quota?: number; usage?: QuotaUsage; lastRequestAt?: string | undefined } = {},
) =>
  statusFields({
    translator: { childUids: () => ['a', 'b', 'c'] },
    counts: { isReady: (uid) => uid !== 'b' },
    key: () => key && { secretName: 'own', key },
    usage: () => usage,
    lastRequestAt: () => lastRequestAt,
  })(
    { ...verdict(kind), quota, ...(kind === 'Account' && { status: { usage: { quota: quota ?? 500 } } }) },
    before,
    NOW,
  );

test('an Account shows its key’s fingerprint and time of issue, but never the digest', () => {
  const fields = resultingFields('Account', { kind: 'key', sha256: SHA256 });
  expect(fields).toMatchObject({ apiKey: { secretName: 'own', fingerprint: keyFingerprint(SHA256), issuedAt: NOW } });
  expect(JSON.stringify(fields)).not.toContain(SHA256);
});

test('an unchanged key keeps its time of issue, and a different key gets a new one', () => {
  const before = { apiKey: { fingerprint: keyFingerprint(SHA256), issuedAt: EARLIER } };
  expect(resultingFields('Account', { kind: 'key', sha256: SHA256 }, before)).toMatchObject({
    apiKey: { issuedAt: EARLIER },
  });
  const other = resultingFields('Account', { kind: 'key', sha256: 'cd'.repeat(32) }, before);
  expect(other).toMatchObject({ apiKey: { issuedAt: NOW } });
  expect(isSameKey(before, other)).toBe(false);
  expect(isSameKey({}, {})).toBe(true);
});

test.each([{ kind: 'missing', secretName: 'own' } as const, undefined])(
  'an Account without a key (%j) does not show a fingerprint',
  (key) => {
    expect(resultingFields('Account', key)['apiKey']).toBeUndefined();
  },
);

test('an Account counts its projects', () => {
  expect(resultingFields('Account')).toMatchObject({ projects: 3 });
});

test('a Project shows the time of its last request, which changes every ten minutes', () => {
  const shown = (lastRequestAt: string | undefined, before: Record<string, unknown>) =>
    resultingFields('Project', undefined, before, { lastRequestAt })['lastRequestAt'];
  expect(shown(EARLIER, {})).toBe(EARLIER);
  expect(shown(NOW, { lastRequestAt: EARLIER })).toBe(NOW);
  // A field that is missing from the result stays unchanged in the status.
  expect(shown(undefined, { lastRequestAt: EARLIER })).toBeUndefined();
  expect(shown('2026-11-21T10:09:59Z', { lastRequestAt: NOW })).toBeUndefined();
  expect(shown('2026-11-21T10:10:00Z', { lastRequestAt: NOW })).toBe('2026-11-21T10:10:00Z');
  expect(shown(EARLIER, { lastRequestAt: NOW })).toBeUndefined();
});

test('a Project counts its endpoints, and an Endpoint has no further fields', () => {
  expect(resultingFields('Project')).toEqual({ endpoints: { total: 3, ready: 2 } });
  expect(resultingFields('Endpoint')).toEqual({});
});

test('an Account with a quota shows its accepted requests, which never decrease within a month', () => {
  const usage = { period: '2026-11', accepted: 7, granted: 10, quota: 100, isExhausted: false };
  const shown = (before: Record<string, unknown>) =>
    resultingFields('Account', undefined, { usage: before }, { quota: 100, usage })['usage'];
  expect(shown({})).toEqual({ period: '2026-11', accepted: 7, quota: 100 });
  expect(shown({ period: '2026-11', accepted: 9 })).toEqual({ period: '2026-11', accepted: 9, quota: 100 });
  expect(shown({ period: '2026-10', accepted: 9 })).toEqual({ period: '2026-11', accepted: 7, quota: 100 });
});

test('an Account without a quota does not show usage, and without requests the earlier usage remains', () => {
  const before = { usage: { period: '2026-11', accepted: 9 } };
  expect(resultingFields('Account', undefined, before)['usage']).toEqual({
    quota: 500,
    period: undefined,
    accepted: undefined,
  });
  expect(resultingFields('Account', undefined, before, { quota: 100 })['usage']).toEqual({ quota: 100 });
});

test('only the parents whose counts change are returned', () => {
  const counts = new ReadyCounts();
  expect(counts.set('e', { parent: 'p', ready: false })).toEqual(['p']);
  expect(counts.set('e', { parent: 'p', ready: false })).toEqual([]);
  expect(counts.set('e', { parent: 'p', ready: true })).toEqual(['p']);
  expect(counts.isReady('e')).toBe(true);
  // The Endpoint now belongs to another Project.
  expect(counts.set('e', { parent: 'q', ready: true })).toEqual(['p', 'q']);
  expect(counts.set('orphan', { parent: undefined, ready: false })).toEqual([]);
  expect(counts.delete('e')).toEqual(['q']);
  expect(counts.delete('e')).toEqual([]);
  expect(counts.isReady('e')).toBe(false);
});
