import type { ConfigObject } from '@standin/contract';
import { expect, test } from 'vitest';
import { account, BASIC_OBJECTS, compileTable, endpoint, KEY, OTHER_KEY, sha256, URI } from '../gateway.testing.ts';
import { match } from '../match/match.ts';
import type { RoutingTable } from '../match/routing-table.ts';
import type { Authenticated, AuthenticatedByKey } from '../request/accepted.ts';
import { Refusal } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';
import type { Route } from '../request/route.ts';
import { revoked } from './revoked.ts';

const signed = (slug: string, ...secretIds: string[]) =>
  endpoint(slug, {}, { credential: { kind: 'Signature', signature: { scheme: 'GitHub' }, secretIds } });
const tableWith = (...objects: readonly ConfigObject[]): RoutingTable =>
  compileTable([...BASIC_OBJECTS, signed('/signed', 'first', 'second'), ...objects]);

const byKey: AuthenticatedByKey = {
  kind: 'key',
  keySha256: sha256(KEY),
  fingerprint: '',
  holders: tableWith().accountsWithKey(sha256(KEY)),
};
const bySecret: Authenticated = { kind: 'signature', secretId: 'second', deliveryId: '', body: Buffer.alloc(0) };

const routeTo = (path: string): Route => {
  const route = match({ method: 'POST', path, projectUri: URI } as RequestHead, byKey, tableWith());
  if (route instanceof Refusal) throw new Error(route.code);
  return route;
};
/** Returns the code of the refusal after the configuration changed in the middle of a request. */
const refusal = (authenticated: Authenticated, table: RoutingTable | undefined): string | undefined =>
  revoked(authenticated, routeTo('/signed'), { tableAt: () => table })?.code;

test.each([
  ['nothing has changed', undefined, []],
  ['another account got the same key', undefined, [account('third', KEY)]],
  ['another account got another key', undefined, [account('other', 'sk_a-new-key-of-the-other-account')]],
  ['the key was replaced', 'api_key_invalid', [account('own', 'sk_a-new-key-of-the-same-account')]],
  ['the key moved to another account', 'api_key_invalid', [account('own', OTHER_KEY), account('other', KEY)]],
  ['the key was removed', 'api_key_invalid', [{ ...account('own', KEY), keySha256: undefined }]],
] as const)('a request with a key, if %s', (_, code, changes) => {
  expect(refusal(byKey, tableWith(...(changes as readonly ConfigObject[])))).toBe(code);
});

test.each([
  ['nothing has changed', undefined, []],
  ['the other secret was removed', undefined, [signed('/signed', 'second')]],
  ['the secret was removed', 'signature_invalid', [signed('/signed', 'first')]],
  [
    'the secret moved to another endpoint',
    'signature_invalid',
    [signed('/signed', 'first'), signed('/v1/orders', 'second')],
  ],
  ['signatures are no longer accepted', 'signature_invalid', [endpoint('/signed')]],
])('a signed request, if %s', (_, code, changes) => {
  expect(refusal(bySecret, tableWith(...changes))).toBe(code);
});

test('no request is accepted without a configuration', () => {
  for (const authenticated of [byKey, bySecret]) expect(refusal(authenticated, undefined)).toBe('not_ready');
});
