import { expect, test } from 'vitest';
import { readTarget } from './request-target.ts';

test.each([
  ['/p/a?b', undefined, '/p/a?b'],
  ['/http://host/a', undefined, '/http://host/a'],
  ['//host/a', undefined, '//host/a'],
  ['*', undefined, '*'],
  ['ftp://host/a', undefined, 'ftp://host/a'],
  ['http://host/p/a?b=http://c/d', 'host', '/p/a?b=http://c/d'],
  ['HTTPS://host:443?b', 'host:443', '/?b'],
  ['http://[::1]:80', '[::1]:80', '/'],
  ['http://user@host//a#b', 'user@host', '//a#b'],
  ['http:///a', '', '/a'],
  ['http://host/\n/a', 'host', '/\n/a'],
])('%j has the authority %j and the origin form %j', (target, authority, originForm) => {
  expect(readTarget(target)).toEqual({ authority, originForm });
});
