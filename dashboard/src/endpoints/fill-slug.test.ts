import { expect, test } from 'vitest';
import { fillSlug, slugParameters } from './fill-slug.ts';

const fill = (slug: string, values: Readonly<Record<string, string>>) => fillSlug(slug, (name) => values[name] ?? '');

test.each([
  ['/orders', {}, '/orders'],
  ['/orders/{id}', { id: 'a b/ü?' }, '/orders/a%20b%2F%C3%BC%3F'],
  ['/files/{folder}/{path...}', { folder: '1', path: 'a/b c/d' }, '/files/1/a/b%20c/d'],
  ['/files/{path...}', {}, '/files/'],
  ['/files/{path...}', { path: 'a//' }, '/files/a//'],
  ['/dots/{id}', { id: '...' }, '/dots/...'],
  ['/orders/{id}:cancel', { id: '1:2' }, '/orders/1%3A2:cancel'],
])('%s with %j is %s', (slug, values, path) => {
  expect(fill(slug, values)).toEqual({ path });
});

test.each([
  ['/orders/{id}', {}, 'Enter a value for id.'],
  ['/orders/{id}', { id: '..' }, 'The value for id must not contain . or .. as a path segment.'],
  ['/orders/{id}', { id: '..;a' }, 'The value for id must not contain . or .. as a path segment.'],
  ['/files/{path...}', { path: 'a/../../b' }, 'The value for path must not contain . or .. as a path segment.'],
])('%s with %j is not a path', (slug, values, unavailable) => {
  expect(fill(slug, values)).toEqual({ unavailable });
});

test('the parameters of a slug are listed by name', () => {
  expect(slugParameters('/a/{id}/b/{rest...}')).toEqual(['id', 'rest']);
});
