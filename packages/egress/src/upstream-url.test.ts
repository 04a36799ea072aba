import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinUpstreamUrl, splitUpstreamUrl } from './upstream-url.ts';

test.each([
  ['https://api.example.com/orders', undefined, 'https://api.example.com/orders'],
  ['https://api.example.com/orders', '', 'https://api.example.com/orders?'],
  ['https://api.example.com/orders?k=v', undefined, 'https://api.example.com/orders?k=v'],
  ['https://api.example.com/orders', 'a=1&a=2', 'https://api.example.com/orders?a=1&a=2'],
  ['https://api.example.com/orders?k=v', 'a=1', 'https://api.example.com/orders?k=v&a=1'],
  ['https://api.example.com/orders?k=v', '', 'https://api.example.com/orders?k=v'],
  ['http://api.example.com:8080', "it's=<raw>|%zz", "http://api.example.com:8080/?it's=<raw>|%zz"],
  ['http://api.example.com:80/a#part', 'x', 'http://api.example.com/a?x'],
  ['https://api.example.com/a', '//evil.test/x', 'https://api.example.com/a?//evil.test/x'],
  ['https://api.example.com/a', '@evil.test', 'https://api.example.com/a?@evil.test'],
])('%s with the query %j requests %s', (base, query, expected) => {
  expect(joinUpstreamUrl(base, query)).toBe(expected);
});

test('the target keeps the bytes of the query', () => {
  const url = joinUpstreamUrl('https://api.example.com/orders', "q='<é>'");
  expect(splitUpstreamUrl(url).target).toBe("/orders?q='<é>'");
  expect(splitUpstreamUrl(new URL('https://api.example.com')).target).toBe('/');
});

test.each(['a b', 'a\r\nhost: evil', 'a\u0000', 'a\u0100'])('%j is not a valid query', (query) => {
  expect(() => joinUpstreamUrl('https://api.example.com/', query)).toThrow(/query/);
});

test('no query changes the origin', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii' }), (query) => {
      let joined: string;
      try {
        joined = joinUpstreamUrl('https://api.example.com/a', query);
      } catch {
        return;
      }
      expect(new URL(joined).origin).toBe('https://api.example.com');
      expect(joined.startsWith('https://api.example.com/a')).toBe(true);
    }),
  );
});
