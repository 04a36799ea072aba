import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { isTarget, parseTarget, RefusedTargets, urlTarget } from './refused-targets.ts';

const refusing = (...texts: string[]) => new RefusedTargets(texts.map(parseTarget));
const check = (targets: RefusedTargets, host: string, port: number) => targets.check({ host, port });

describe('a target', () => {
  test.each([
    ['clickhouse:8123', { host: 'clickhouse', port: 8123 }],
    ['ClickHouse.db.SVC.:8123', { host: 'clickhouse.db.svc', port: 8123 }],
    ['10.0.0.1:443', { host: '10.0.0.1', port: 443 }],
    ['[fd00::1]:9443', { host: 'fd00::1', port: 9443 }],
  ])('can be written as %s', (text, target) => {
    expect(isTarget(text)).toBe(true);
    expect(parseTarget(text)).toEqual(target);
  });

  test.each([
    'clickhouse',
    'clickhouse:',
    ':8123',
    'clickhouse:0',
    'clickhouse:65536',
    'fd00::1:443',
    '[x]:1',
    'a b:1',
  ])('cannot be written as %s', (text) => {
    expect(isTarget(text)).toBe(false);
  });

  test.each([
    ['http://a/', 'a', 80],
    ['https://a/', 'a', 443],
    ['http://[::1]:8123/x', '::1', 8123],
    ['http://a.:81', 'a', 81],
  ])('of the URL %s is %s:%i', (url, host, port) => {
    expect(urlTarget(new URL(url))).toEqual({ host, port });
  });
});

describe('a refused target includes', () => {
  test('a host by its name, but only on its port', () => {
    const targets = refusing('clickhouse.db.svc:8123');
    expect(check(targets, 'clickhouse.db.svc', 8123)).toMatch(/^clickhouse\.db\.svc on port 8123 .* never allowed$/);
    expect(check(targets, 'clickhouse.db.svc', 80)).toBeUndefined();
    expect(check(targets, 'other.db.svc', 8123)).toBeUndefined();
  });

  test.each(['10.0.0.1', '::ffff:10.0.0.1', '64:ff9b::a00:1', '2002:a00:1::'])('an IP address spelled as %s', (ip) => {
    expect(check(refusing('10.0.0.1:443'), ip, 443)).toBeDefined();
  });

  test('every address of this machine if it listens here', () => {
    const own = Object.values(networkInterfaces()).flatMap((found) => found?.map(({ address }) => address) ?? []);
    for (const listening of ['127.0.0.1:8123', 'localhost:8123', '0.0.0.0:8123', '[::]:8123']) {
      const targets = refusing(listening);
      for (const ip of ['127.0.0.1', '127.0.0.9', '::1', '::ffff:127.0.0.1', 'localhost', 'x.localhost', ...own])
        expect(check(targets, ip, 8123), `${ip} of ${listening}`).toBeDefined();
      expect(check(targets, '10.99.0.1', 8123)).toBeUndefined();
      expect(check(targets, '127.0.0.1', 8124)).toBeUndefined();
    }
  });
});

describe('a name’s addresses', () => {
  const answers = (...ips: (readonly string[] | Error)[]) => {
    const asked: string[] = [];
    const lookup = (host: string) => {
      asked.push(host);
      const next = (ips.length > 1 ? ips.shift() : ips[0]) ?? [];
      if (next instanceof Error) return Promise.reject(next);
      return Promise.resolve(next.map((address) => ({ address, family: 4 })));
    };
    return { asked, lookup };
  };

  test('are refused after a lookup, which happens only for the port and is shared by all requests', async () => {
    const { asked, lookup } = answers(['10.0.0.7', '10.0.0.8']);
    const targets = new RefusedTargets([parseTarget('gateway-pods:9090')], lookup);
    await targets.refresh(80);
    expect(asked).toEqual([]);
    await Promise.all([targets.refresh(9090), targets.refresh(9090)]);
    await targets.refresh(9090);
    expect(asked).toEqual(['gateway-pods']);
    expect(check(targets, '10.0.0.8', 9090)).toBeDefined();
    expect(check(targets, '10.0.0.9', 9090)).toBeUndefined();
  });

  test('stay unchanged if the lookup fails', async () => {
    const { lookup } = answers(new Error('EAI_AGAIN'));
    const targets = new RefusedTargets([parseTarget('a:1'), parseTarget('10.0.0.1:1')], lookup);
    await targets.refresh(1);
    expect(check(targets, '10.0.0.1', 1)).toBeDefined();
  });

  test('do not delay requests for long if the name server does not respond', async () => {
    const targets = new RefusedTargets([parseTarget('a:1')], () => new Promise(() => undefined));
    const started = performance.now();
    await targets.refresh(1);
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});
