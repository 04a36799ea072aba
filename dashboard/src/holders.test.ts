import { expect, it } from 'vitest';
import { namespaceHolder, networkHolder, userHolder } from './holders.ts';

it('one holder has the shares of all ServiceAccounts of a namespace', () => {
  expect(userHolder('system:serviceaccount:team:ci')).toBe(namespaceHolder('team'));
  expect(userHolder('system:serviceaccount:team:bot')).toBe(namespaceHolder('team'));
  expect(userHolder('oidc:ada')).not.toBe(userHolder('oidc:bob'));
  expect(userHolder('namespace team')).not.toBe(namespaceHolder('team'));
});

it('one holder has the shares of all addresses of a network', () => {
  expect(networkHolder('::ffff:192.0.2.1')).toBe('network 192.0.2.1');
  expect(networkHolder('2001:db8::1')).toBe('network 2001:db8:0:0');
});
