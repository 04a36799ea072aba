import { expect, test } from 'vitest';
import { pathMapping, publicBase, rewriteHeaders, upstreamBase } from './upstream-paths.ts';

test.each([
  ['/v1/orders', 'https://up.example/orders', '/v1/orders', 'https://up.example/orders', '/u/v1', ''],
  ['/v1/orders', 'https://up.example/v1/orders', '/v1/orders', 'https://up.example/v1/orders', '/u', ''],
  ['/{path...}', 'https://up.example/${path.path}', '/a/b', 'https://up.example/a/b', '/u', ''],
  ['/p/{path...}', 'https://up.example/api/${path.path}', '/p/a/b', 'https://up.example/api/a/b', '/u/p', '/api'],
  [
    '/p/{path...}',
    'https://up.example/api/${path.path}?x=${path.y}',
    '/p/',
    'https://up.example/api/?x=1',
    '/u/p',
    '/api',
  ],
  [
    '/{v}/orders/{id}:cancel',
    'http://up.example:8080/${path.v}x/orders/${ path.id }:cancel',
    '/1/orders/7:cancel',
    'http://up.example:8080/1x/orders/7:cancel',
    '/u/1',
    '/1x',
  ],
  // They share nothing.
  ['/orders', 'https://up.example', '/orders', 'https://up.example/', '/u/orders', ''],
  ['/orders', 'https://up.example/buy/', '/orders', 'https://up.example/buy/', '/u/orders', '/buy'],
  [
    '/{a}/{rest...}',
    'https://up.example/${path.rest}/${path.a}',
    '/x/y/z',
    'https://up.example/y/z/x',
    '/u/x/y/z',
    '/y/z/x',
  ],
])('%s → %s: %s → %s', (...row) => {
  const [slug, template, path, url, ours, theirs] = row;
  const mapping = pathMapping(slug, template);
  expect([publicBase(mapping, { projectUri: 'u', path }), upstreamBase(mapping, url)]).toEqual([ours, theirs]);
});

const upstream = {
  url: 'https://up.example/api/a/b?x=1',
  host: 'up.example',
  publicBase: '/u/p',
  upstreamBase: '/api',
};

test.each([
  ['/api/orders/1', '/u/p/orders/1'],
  ['/api', '/u/p'],
  ['/api/?a=%20#f', '/u/p/?a=%20#f'],
  ['https://up.example/api/x', '/u/p/x'],
  ['HTTPS://UP.example:443/api/x', '/u/p/x'],
  ['//up.example/api/x', '/u/p/x'],
  ['/apis/x', '/apis/x'],
  ['/login', '/login'],
  ['/u/p/x', '/u/p/x'],
  ['next?page=2', 'next?page=2'],
  ['../c', '../c'],
  ['', ''],
  ['http://up.example/api/x', '/u/p/x'],
  ['https://other.example/api/x', 'https://other.example/api/x'],
  ['https://up.example:8443/api/x', 'https://up.example:8443/api/x'],
  ['https://', 'https://'],
  ['mailto:a@b.c', 'mailto:a@b.c'],
])('a location %j becomes %j', (before, after) => {
  const headers = [
    ['Location', before],
    ['content-location', before],
    ['x-location', before],
  ] as const;
  expect(rewriteHeaders(headers, ['Location'], upstream)).toEqual([
    ['Location', after],
    ['content-location', after],
    ['x-location', before],
  ]);
  expect(rewriteHeaders(headers, ['CookiePath'], upstream)).toEqual(headers);
});

test.each([
  ['a=b; Path=/api; HttpOnly', 'a=b; Path=/u/p; HttpOnly'],
  ['a=b;path=/api/x', 'a=b;path=/u/p/x'],
  ['a=b; Path=/', 'a=b; Path=/'],
  ['a=b; Path=/apis', 'a=b; Path=/apis'],
  ['a="; path=x"', 'a="; path=x"'],
  ['a=b', 'a=b'],
  ['a=b; Path', 'a=b; Path'],
])('the cookie %j becomes %j', (before, after) => {
  expect(rewriteHeaders([['Set-Cookie', before]], ['CookiePath'], upstream)).toEqual([['Set-Cookie', after]]);
});

test('at the root of an upstream, the root is that of the project', () => {
  const root = { ...upstream, url: 'https://up.example/a', publicBase: '/u', upstreamBase: '' };
  const headers = [
    ['location', '/'],
    ['set-cookie', 'a=b; Path=/'],
  ] as const;
  expect(rewriteHeaders(headers, ['Location', 'CookiePath'], root)).toEqual([
    ['location', '/u/'],
    ['set-cookie', 'a=b; Path=/u/'],
  ]);
});
