import { beforeEach, describe, expect, test } from 'vitest';
import { account, KEY, OTHER_KEY, sha256 } from '../gateway.testing.ts';
import { RoutingTable } from '../match/routing-table.ts';
import { Refusal } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';
import { authenticate, type KeyHeaderName } from './authenticate.ts';

let table: RoutingTable;
beforeEach(() => {
  table = new RoutingTable();
  const config = account('own', KEY);
  table.put('Account/own', { kind: 'Account', config });
});

const head = (name: string, value: string, more: Partial<RequestHead> = {}): RequestHead =>
  ({
    headers: [
      ['Host', 'a'],
      [name, value],
    ],
    keyCount: 1,
    keyIndex: 1,
    keyPadded: false,
    ...more,
  }) as RequestHead;
const verdict = (one: RequestHead, keyHeaderName: KeyHeaderName = 'exact') => {
  const result = authenticate(one, table, keyHeaderName);
  return result instanceof Refusal ? result.code : result?.holders.map(({ name }) => name);
};

describe('a key in the header', () => {
  test.each([
    ['x-api-key', ['own'], ['own']],
    ['X-Api-Key', 'api_key_header_name', ['own']],
    ['X-API-KEY', 'api_key_header_name', ['own']],
  ])('%s', (name, exact, anyCase) => {
    expect([verdict(head(name, KEY)), verdict(head(name, KEY), 'any-case')]).toEqual([exact, anyCase]);
  });
});

test('authenticate refuses whitespace around the key, regardless of the setting', () => {
  const padded = { keyPadded: true };
  expect(verdict(head('x-api-key', KEY, padded))).toBe('api_key_whitespace');
  expect(verdict(head('X-Api-Key', KEY, padded), 'any-case')).toBe('api_key_whitespace');
});

test('authenticate refuses a replaced key immediately, although its digest is cached', () => {
  expect(verdict(head('x-api-key', KEY))).toEqual(['own']);
  table.put('Account/own', { kind: 'Account', config: account('own', OTHER_KEY) });
  expect([verdict(head('x-api-key', KEY)), verdict(head('x-api-key', OTHER_KEY))]).toEqual([
    'api_key_invalid',
    ['own'],
  ]);
});

test('authenticate replaces the key with its fingerprint', () => {
  const one = head('x-api-key', KEY);
  authenticate(one, table, 'exact');
  expect(one.headers).toEqual([
    ['Host', 'a'],
    ['x-api-key', `sha256:${sha256(KEY).slice(0, 8)}`],
  ]);
});

test('authenticate does not let any key access an account without a key', () => {
  table.put('Account/own', { kind: 'Account', config: { ...account('own', KEY), keySha256: undefined } });
  expect(verdict(head('x-api-key', KEY))).toBe('api_key_invalid');
});
