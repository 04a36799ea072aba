import { expect, it } from 'vitest';
import { namespaceHolder, senderHolder, userHolder } from './holders.ts';

const session = (user: string | undefined) => ({
  holder: () => Promise.resolve(user === undefined ? undefined : userHolder(user)),
});

it('one holder has the shares of all ServiceAccounts of a namespace', () => {
  expect(userHolder('system:serviceaccount:team:ci')).toBe(namespaceHolder('team'));
  expect(userHolder('system:serviceaccount:team:bot')).toBe(namespaceHolder('team'));
  expect(userHolder('oidc:ada')).not.toBe(userHolder('oidc:bob'));
  expect(userHolder('namespace team')).not.toBe(namespaceHolder('team'));
});

it.each([
  ['a user', session('oidc:ada'), '192.0.2.1', 'user oidc:ada'],
  ['a token that the API server does not accept', session(undefined), '192.0.2.1', 'network 192.0.2.1'],
  ['no session', undefined, '::ffff:192.0.2.1', 'network 192.0.2.1'],
  ['an IPv6 address', undefined, '2001:db8::1', 'network 2001:db8:0:0'],
])('the holder is found for %s', async (_, found, address, holder) => {
  expect(await senderHolder(found, address)).toBe(holder);
});
