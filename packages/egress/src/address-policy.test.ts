import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classifyAddress, type AddressClass } from './address-class.ts';
import { checkAddress, checkUpstreamUrl, isCidr, type AddressPolicy } from './address-policy.ts';

const CLUSTER: AddressPolicy = { allowPrivate: false, allow: [] };
const LAPTOP: AddressPolicy = { allowPrivate: true, allow: [] };

const CLASSES: Record<AddressClass, string[]> = {
  public: [
    '8.8.8.8',
    '1.1.1.1',
    '172.32.0.1',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '64:ff9b:1::808:808',
    '2002:808:808::1',
    '::8.8.8.8',
  ],
  loopback: [
    '127.0.0.1',
    '127.255.255.254',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
  ],
  private: [
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    'fc00::1',
    'fd12:3456::1',
    '::ffff:10.1.2.3',
    '64:ff9b::a00:1',
    '64:ff9b:1:a00:0:100::',
    '2002:c0a8:101::1',
  ],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255', '::ffff:100.64.0.1'],
  'link-local': ['169.254.0.1', '169.254.170.3', 'fe80::1', 'febf::1', '::ffff:169.254.1.1'],
  'cloud metadata': [
    '169.254.169.254',
    '169.254.170.2',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2:0::0254',
    'fd20:ce::254',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::a9fe:a9fe',
    '2002:a9fe:a9fe::',
    '2001:0:a9fe:a9fe::f7f7:f7f7',
    '2001:0:808:808::5601:5601',
  ],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  reserved: [
    '192.0.0.1',
    '198.18.0.1',
    '192.88.99.1',
    '240.0.0.1',
    '100::1',
    'fec0::1',
    '2001:2::1',
    '2001:20::1',
    '5f00::1',
    '4000::1',
    '1234::1',
  ],
  multicast: ['224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1'],
  unspecified: ['0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0', '64:ff9b::', '64:ff9b:1::'],
};

describe('classifyAddress', () => {
  test.each(Object.entries(CLASSES).flatMap(([expected, ips]) => ips.map((ip) => [ip, expected])))(
    '%s is %s',
    (ip, expected) => {
      expect(classifyAddress(ip)).toBe(expected);
    },
  );

  test('an IPv6 address with an embedded IPv4 address has the class of that address', () => {
    fc.assert(
      fc.property(fc.ipV4(), (ip) => {
        const [a, b, c, d] = ip.split('.').map(Number) as [number, number, number, number];
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        const expected = classifyAddress(ip);
        for (const spelling of [`::ffff:${hex}`, `64:ff9b::${hex}`, `2002:${hex}::`, `::ffff:0:${hex}`]) {
          expect(classifyAddress(spelling)).toBe(expected);
        }
      }),
    );
  });

  test('every IPv6 address has a class', () => {
    fc.assert(
      fc.property(fc.ipV6(), (ip) => {
        expect(Object.keys(CLASSES)).toContain(classifyAddress(ip));
      }),
    );
  });
});

describe('checkAddress', () => {
  const verdicts = (policy: AddressPolicy, viaService = false) =>
    Object.entries(CLASSES)
      .filter(([, ips]) => ips.every((ip) => checkAddress(ip, policy, { viaService }) === undefined))
      .map(([found]) => found);
  const refusedWhole = (policy: AddressPolicy, viaService = false) =>
    Object.entries(CLASSES)
      .filter(([, ips]) => ips.every((ip) => checkAddress(ip, policy, { viaService }) !== undefined))
      .map(([found]) => found);

  test.each([
    ['a cluster, by URL', CLUSTER, false, ['public']],
    ['a cluster, by serviceRef', CLUSTER, true, ['public', 'private', 'carrier-grade NAT']],
    ['a laptop', LAPTOP, false, ['public', 'loopback', 'private']],
  ])('allows only the listed classes on %s', (_name, policy, viaService, expected) => {
    expect(verdicts(policy, viaService)).toEqual(expected);
    expect([...expected, ...refusedWhole(policy, viaService)].sort()).toEqual(Object.keys(CLASSES).sort());
  });

  test('no setting allows metadata, link-local, multicast or unspecified addresses', () => {
    const all: AddressPolicy = { allowPrivate: true, allow: ['0.0.0.0/0', '::/0'] };
    expect(refusedWhole(all, true).sort()).toEqual(['cloud metadata', 'link-local', 'multicast', 'unspecified']);
  });

  test('the administrator can allow networks, regardless of the spelling of the address', () => {
    const policy: AddressPolicy = { allowPrivate: false, allow: ['10.20.0.0/16', '127.0.0.0/8', 'fd12::/16'] };
    for (const ip of ['10.20.3.4', '::ffff:10.20.3.4', '64:ff9b::a14:304', '127.0.0.1', 'fd12::9']) {
      expect(checkAddress(ip, policy), ip).toBeUndefined();
    }
    for (const ip of ['10.21.0.1', 'fd13::1', '::1', '192.168.0.1']) expect(checkAddress(ip, policy), ip).toBeDefined();
  });

  test('the reason includes the address, its class and the setting', () => {
    expect(checkAddress('10.0.0.1', CLUSTER)).toBe(
      '10.0.0.1 is a private address, which is not allowed by the administrator (egress.allow)',
    );
    expect(checkAddress('64:ff9b::a9fe:a9fe', LAPTOP)).toBe(
      '64:ff9b::a9fe:a9fe (which stands for 169.254.169.254) is a cloud metadata address, which is never allowed',
    );
    expect(checkAddress('example', CLUSTER)).toBe('example is not an IP address');
  });

  test('isCidr distinguishes networks from other text', () => {
    expect(['10.0.0.0/8', 'fd00::/8', '10.0.0.1', '10.0.0.0/33', 'x/8'].map(isCidr)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('checkUpstreamUrl', () => {
  const LOOPBACK = [
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://localhost/',
    'http://LOCALHOST./',
    'http://a.localhost:8080/',
    'http://%6cocalhost/',
    'http://１２７.０.０.１/',
  ];

  test.each(LOOPBACK)('%s is refused in a cluster and allowed on a laptop', (url) => {
    expect(checkUpstreamUrl(new URL(url), CLUSTER)).toMatch(/is a loopback address, which is not allowed/);
    expect(checkUpstreamUrl(new URL(url), CLUSTER, { viaService: true })).toBeDefined();
    expect(checkUpstreamUrl(new URL(url), LAPTOP)).toBeUndefined();
  });

  test.each([
    'http://169.254.169.254/latest',
    'http://0xa9fea9fe/',
    'http://metadata.google.internal/',
    'http://Metadata/',
    'http://[fd00:ec2::254]/',
    'http://0/',
    'http://0.0.0.0/',
    'http://[::]/',
    'http://[fe80::1]/',
  ])('%s is refused everywhere', (url) => {
    expect(checkUpstreamUrl(new URL(url), LAPTOP, { viaService: true })).toMatch(/never allowed/);
  });

  test.each([
    ['ftp://example.com/', 'the scheme must be http or https, not ftp'],
    ['file:///etc/passwd', 'the scheme must be http or https, not file'],
    [
      'https://user@example.com/',
      'the URL must not contain a user name or password; callers send their own authorization header',
    ],
    [
      'https://:secret@example.com/',
      'the URL must not contain a user name or password; callers send their own authorization header',
    ],
  ])('%s: %s', (url, reason) => {
    expect(checkUpstreamUrl(new URL(url), LAPTOP)).toBe(reason);
  });

  test.each([
    'https://api.example.com/orders?a=1',
    'http://8.8.8.8:8080/',
    'http://orders.shop.svc:80/',
    'https://notlocalhost/',
  ])('%s is allowed, because the addresses of a name are checked on connection', (url) => {
    expect(checkUpstreamUrl(new URL(url), CLUSTER)).toBeUndefined();
  });
});
