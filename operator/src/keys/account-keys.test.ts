import { SourceError } from '@standin/contract';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import type { KeyState } from '../translate/index.ts';
import { AccountKeys, type KeyOwner } from './account-keys.ts';
import { apiKeySha256 } from './api-key.ts';

const OWN = 'k'.repeat(32);

let source: MemorySource;
let owner: KeyOwner | undefined;
let reported: KeyState[];
let keys: AccountKeys;

const setSecret = (name: string, key: string): void =>
  void source.secretData.set(`default/${name}`, { 'api-key': key });
const named = (secretName: string, generated: boolean): KeyOwner => {
  return { account: source.object('Account', 'team'), secretName, generated };
};

beforeEach(() => {
  source = new MemorySource();
  source.put('Account', 'team', {});
  owner = named('team-api-key', true);
  reported = [];
  keys = new AccountKeys({
    secrets: source.secrets,
    events: source.events,
    logger: pino({ level: 'silent' }),
    owner: () => owner,
    onKey: (_uid, state) => reported.push(state),
  });
});

describe('a generated key', () => {
  test('is created once, with an Event, and only its digest is reported', async () => {
    expect(await keys.read('uid-1')).toBe(true);
    const key = source.secretData.get('default/team-api-key')?.['api-key'] ?? '';
    expect(reported).toEqual([{ kind: 'key', sha256: apiKeySha256(key) }]);
    expect(source.recorded).toMatchObject([{ type: 'Normal', reason: 'KeyGenerated' }]);
    expect(source.recorded[0]?.message).not.toContain(key);
    await keys.read('uid-1');
    expect(reported[1]).toEqual(reported[0]);
    expect(source.recorded).toHaveLength(1);
    expect(keys.known('uid-1')).toEqual({ secretName: 'team-api-key', key: reported[0] });
  });

  test('is created again after its Secret is deleted', async () => {
    await keys.read('uid-1');
    source.secretData.clear();
    await keys.read('uid-1');
    expect(reported[1]).toMatchObject({ kind: 'key' });
    expect(reported[1]).not.toEqual(reported[0]);
  });

  test('is used if another operator creates it at the same time', async () => {
    source.disturb = (call) => {
      if (call === 'createSecret') setSecret('team-api-key', OWN);
    };
    await keys.read('uid-1');
    expect(reported).toEqual([{ kind: 'key', sha256: apiKeySha256(OWN) }]);
    expect(source.recorded).toEqual([]);
  });

  test('is not written to a Secret with the same name and other content', async () => {
    source.secretData.set('default/team-api-key', { password: 'x' });
    await keys.read('uid-1');
    expect(reported).toMatchObject([
      { kind: 'invalid', message: expect.stringContaining('add this data key, or delete') as string },
    ]);
  });
});

describe('a user-provided key', () => {
  beforeEach(() => {
    owner = named('own', false);
  });

  test('is never created, and is reported when it appears or changes', async () => {
    await keys.read('uid-1');
    setSecret('own', OWN);
    await keys.read('uid-1');
    setSecret('own', `${OWN}2`);
    await keys.read('uid-1');
    expect(reported).toEqual([
      { kind: 'missing', secretName: 'own' },
      { kind: 'key', sha256: apiKeySha256(OWN) },
      { kind: 'key', sha256: apiKeySha256(`${OWN}2`) },
    ]);
  });

  test('is reported as invalid if it is too short', async () => {
    setSecret('own', 'short');
    await keys.read('uid-1');
    expect(reported).toMatchObject([{ kind: 'invalid', message: expect.stringContaining('at least 32') as string }]);
  });
});

describe('an API server error', () => {
  test.each([
    ['readSecret', 'Forbidden', 'cannot get resource "secrets"'],
    ['createSecret', 'Forbidden', 'cannot create resource "secrets"'],
    ['createSecret', 'Invalid', 'the name is too long'],
  ] as const)('is reported as a problem with the Secret if %s fails with %s', async (refused, kind, message) => {
    source.disturb = (call) => {
      if (call === refused) throw new SourceError(kind, message);
    };
    await keys.read('uid-1');
    expect(reported).toMatchObject([{ kind: 'invalid', message: expect.stringContaining(message) as string }]);
  });

  test('does not remove an active key, and the read is retried', async () => {
    await keys.read('uid-1');
    source.disturb = () => {
      throw new SourceError('Forbidden', 'no more');
    };
    await expect(keys.read('uid-1')).rejects.toThrow('no more');
    expect(reported).toHaveLength(1);
    expect(keys.known('uid-1')?.key.kind).toBe('key');
  });

  test('is not reported if it is temporary, and the read is retried', async () => {
    source.disturb = () => {
      throw new SourceError('Unavailable', 'unavailable');
    };
    await expect(keys.read('uid-1')).rejects.toThrow('unavailable');
    expect(reported).toEqual([]);
  });
});

describe('an Account', () => {
  test('has no key if it does not exist or is invalid', async () => {
    owner = undefined;
    expect(await keys.read('uid-1')).toBe(false);
    expect(reported).toEqual([]);
  });

  test('has no key if it is deleted or refers to another Secret during the read', async () => {
    setSecret('team-api-key', OWN);
    source.disturb = () => {
      owner = undefined;
    };
    await keys.read('uid-1');
    expect([reported, keys.known('uid-1')]).toEqual([[], undefined]);
    owner = named('team-api-key', true);
    source.disturb = () => {
      owner = named('other', false);
    };
    await keys.read('uid-1');
    expect([reported, keys.known('uid-1')]).toEqual([[], undefined]);
  });

  test('is forgotten after it is deleted', async () => {
    await keys.read('uid-1');
    keys.forget('uid-1');
    expect(keys.known('uid-1')).toBeUndefined();
  });
});
