import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { clientAddresses, isNetwork } from './client-address.ts';

const request = (remoteAddress: string, forwarded?: string) =>
  ({
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    socket: { remoteAddress },
  }) as unknown as IncomingMessage;

describe('the client address', () => {
  it('is the connection’s address if no proxy is trusted', () => {
    const address = clientAddresses([]);
    expect(address(request('10.0.0.7', '192.0.2.1'))).toBe('10.0.0.7');
    expect(address(request('::ffff:10.0.0.7'))).toBe('10.0.0.7');
  });

  it.each([
    ['the proxy added it', '10.0.0.7', '192.0.2.1', '192.0.2.1'],
    ['the client also sent one', '10.0.0.7', '10.9.9.9, 198.51.100.9, 192.0.2.1', '192.0.2.1'],
    ['two trusted proxies follow each other', '10.0.0.7', '198.51.100.9, 192.0.2.1, 10.0.0.8', '192.0.2.1'],
    ['a trusted proxy is a single address', '203.0.113.5', '192.0.2.1', '192.0.2.1'],
    ['the connection is not from a proxy', '192.0.2.99', '192.0.2.1', '192.0.2.99'],
    ['the connection has an IPv4-mapped IPv6 address', '::ffff:10.0.0.7', '192.0.2.1', '192.0.2.1'],
    ['it is IPv6', 'fd00::7', '2001:db8::1', '2001:db8::1'],
    ['it has a port', '10.0.0.7', '192.0.2.1:4711', '192.0.2.1'],
    ['it is IPv6 with a port', '10.0.0.7', '[2001:db8::1]:4711', '2001:db8::1'],
    ['there is no header', '10.0.0.7', undefined, '10.0.0.7'],
    ['the header is invalid', '10.0.0.7', '192.0.2.1, unknown', '10.0.0.7'],
    ['all addresses are proxies', '10.0.0.7', '10.0.0.9, 10.0.0.8', '10.0.0.9'],
  ])('is the last address that is not a trusted proxy: %s', (_, socket, forwarded, expected) => {
    expect(clientAddresses(['10.0.0.0/8', '203.0.113.5', 'fd00::/8'])(request(socket, forwarded))).toBe(expected);
  });

  it('is found within the maximum number of hops', () => {
    const address = clientAddresses(['10.0.0.0/8']);
    expect(address(request('10.0.0.7', `192.0.2.1${', 10.0.0.8'.repeat(5)}`))).toBe('192.0.2.1');
    expect(address(request('10.0.0.7', `192.0.2.1${', 10.0.0.8'.repeat(1_000)}`))).toBe('10.0.0.8');
  });
});

it.each([
  ['10.0.0.0/8', true],
  ['192.0.2.1', true],
  ['2001:db8::/32', true],
  ['::1', true],
  ['10.0.0.0/33', false],
  ['2001:db8::/129', false],
  ['10.0.0', false],
  ['ingress.example', false],
  ['10.0.0.0/8/8', false],
  ['', false],
])('"%s" is an address or a network: %s', (text, expected) => {
  expect(isNetwork(text)).toBe(expected);
});
