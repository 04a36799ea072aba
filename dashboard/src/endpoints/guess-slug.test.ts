import { GROUP_VERSION, type ResourceObject } from '@standin/contract';
import { parseObject } from '@standin/crds';
import { hasParameters, matchesPattern, parsePathPattern } from '@standin/responses';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { guessSlug, slugForPath } from './guess-slug.ts';

const testEndpoint = (slug: string, method = 'GET', name = 'taken'): ResourceObject => ({
  apiVersion: GROUP_VERSION,
  kind: 'Endpoint',
  metadata: {
    name,
    namespace: 'default',
    uid: 'u',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-11-20T00:00:00Z',
  },
  spec: { projectRef: { name: 'shop' }, displayName: 'a', slug, method, action: 'JSON', json: { body: '{}' } },
});

describe('the slug for a path', () => {
  it.each([
    ['/orders/1001', '/orders/{orderId}'],
    ['/v1/orders/1001/lines/2', '/v1/orders/{orderId}/lines/{lineId}'],
    ['/1001', '/{id}'],
    ['/1/2/3', '/{id}/{id2}/{id3}'],
    ['/orders/1/orders/2', '/orders/{orderId}/orders/{orderId2}'],
    ['/line-items/7', '/line-items/{lineItemId}'],
    [
      '/categories/7/boxes/8/status/9/class/1',
      '/categories/{categoryId}/boxes/{boxId}/status/{statusId}/class/{classId}',
    ],
    ['/users/6ba7b810-9dad-11d1-80b4-00c04fd430c8', '/users/{userId}'],
    ['/users/01ARZ3NDEKTSV4RRFFQ69G5FAV', '/users/{userId}'],
    ['/docs/507f1f77bcf86cd799439011', '/docs/{docId}'],
    ['/v1/7', '/v1/{id}'],
    ['/orders/latest', '/orders/latest'],
    ['/effaced/deadbeefdeadbeef', '/effaced/deadbeefdeadbeef'],
    ['/orders/1001/', '/orders/{orderId}/'],
    ['/', '/'],
    ['/caf%C3%A9/1', '/caf%C3%A9/{cafId}'],
    // A slug cannot contain these bytes, but a parameter matches them.
    ['/tags/a|b', '/tags/{tagId}'],
    ['/tags/{x}', '/tags/{tagId}'],
    ['/tags/\xc3\xa9', '/tags/{tagId}'],
  ])('%s is %s', (path, slug) => {
    expect(guessSlug(path)).toBe(slug);
  });

  it.each([
    '',
    'orders',
    '//a',
    '/a//1',
    '/a/../1',
    '/%2e%2E/1',
    '/a/.',
    '/a|b/%zz',
    '/a/%zz',
    '/\xff',
    `/${'a'.repeat(1_024)}`,
  ])('does not exist for %j', (path) => {
    expect(guessSlug(path)).toBeUndefined();
  });

  it('has no parameters if it would have too many', () => {
    const many = '/1'.repeat(9);
    expect(guessSlug(many)).toBe(many);
    const long = `${'/a'.repeat(32)}/1`;
    expect(guessSlug(long)).toBe(long);
    expect(guessSlug(`${'/a'.repeat(32)}/|`)).toBeUndefined();
  });

  it('is valid and matches the path, whatever the path', () => {
    const segment = fc.oneof(
      fc.constantFrom(
        'orders',
        '1001',
        '..',
        '',
        '%2e',
        '%00',
        'constructor',
        '__proto__',
        'in',
        'as',
        '01ARZ3NDEKTSV4RRFFQ69G5FAV',
      ),
      fc.stringMatching(/^[!-~\x80-\xff]{0,12}$/).map((text) => text.replace(/[/?#]/g, '')),
    );
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 40 }), (segments) => {
        const path = `/${segments.join('/')}`;
        const slug = guessSlug(path);
        if (slug === undefined) return;
        const parsed = parseObject({ ...testEndpoint(slug), status: undefined });
        expect(parsed.ok ? [] : parsed.problems).toEqual([]);
        const pattern = hasParameters(slug) ? parsePathPattern(slug) : undefined;
        expect(pattern === undefined ? slug === path : pattern.ok && matchesPattern(pattern.pattern, path)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a new endpoint for a path', () => {
  it('has a slug that no endpoint with this method has', () => {
    expect(slugForPath([], 'GET', '/orders/1')).toEqual({ slug: '/orders/{orderId}' });
    expect(slugForPath([testEndpoint('/orders/{id}', 'POST')], 'GET', '/orders/1')).toEqual({
      slug: '/orders/{orderId}',
    });
    expect(slugForPath([testEndpoint('/orders/{id}')], 'GET', '/orders/1')).toEqual({ slug: '/orders/1' });
    expect(slugForPath([testEndpoint('/{path...}')], 'GET', '/orders/1')).toEqual({ slug: '/orders/{orderId}' });
  });

  it('is not created if an endpoint has exactly this path', () => {
    const all = [testEndpoint('/orders/{id}', 'GET', 'any'), testEndpoint('/orders/1', 'GET', 'one')];
    expect(slugForPath(all, 'GET', '/orders/1')).toEqual({ taken: 'any' });
    expect(slugForPath([testEndpoint('/orders')], 'GET', '/orders')).toEqual({ taken: 'taken' });
    expect(slugForPath([testEndpoint('/tags/{x}')], 'GET', '/tags/a|b')).toEqual({ taken: 'taken' });
  });

  it('has the path itself if no slug can match it, so that the form shows why', () => {
    expect(slugForPath([], 'GET', '/a//b')).toEqual({ slug: '/a//b' });
    expect(slugForPath([], 'GET', `/${'a'.repeat(5_000)}`)).toEqual({ slug: `/${'a'.repeat(1_023)}` });
  });
});
