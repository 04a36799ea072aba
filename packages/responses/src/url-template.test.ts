import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeSegment } from './parameter-value.ts';
import { validPattern } from './path-pattern.testing.ts';
import { pathParameters } from './pattern-table.ts';
import { expandUrl, expandUrlFor, parseUrlTemplate } from './url-template.ts';

const SLUG = '/orders/{id}/{rest...}';
const pattern = validPattern(SLUG);
const expand = (url: string, path: string): string => {
  const parsed = parseUrlTemplate(url, pattern);
  return parsed.ok ? expandUrl(parsed.template, pathParameters(pattern, path)) : parsed.message;
};

describe('a URL', () => {
  test.each([
    ['https://api.example.com/v1', 'https://api.example.com/v1'],
    ['https://api.example.com/v1/${path.id}', 'https://api.example.com/v1/42'],
    ['https://api.example.com/${ path.id }/x?o=1', 'https://api.example.com/42/x?o=1'],
    ['https://api.example.com?o=${path.id}', 'https://api.example.com?o=42'],
    ['https://api.example.com/${path.rest}', 'https://api.example.com/a/b'],
    ['https://api.example.com/$${path.id}/$/{x}', 'https://api.example.com/${path.id}/$/{x}'],
  ])('%s becomes %s', (url, expected) => {
    expect(expand(url, '/orders/42/a/b')).toBe(expected);
  });

  test.each([
    ['https://${path.id}/x', 'has ${path.id} at character 9, but parameters are allowed only after the host'],
    ['https://api${path.id}.com/', 'at character 12, but parameters are allowed only after the host'],
    ['https://api.example.com:${path.id}/', 'but parameters are allowed only after the host'],
    ['https://api.example.com/${path.id}/${path.id}', 'but each parameter can be inserted only once'],
    ['https://api.example.com/${path.other}', 'but the slug has no parameter {other}'],
    ['https://api.example.com/${id}', 'only a path parameter can be inserted, such as ${path.id}'],
    ['https://api.example.com/${}', 'has an empty expression at line 1, column 25'],
    ['https://api.example.com/${request.headers["x"]}', 'only a path parameter can be inserted'],
    ['https://api.example.com/${path.id', 'has ${ at line 1, column 25 without a closing brace'],
    ['https://api.example.com/%${path.id}', 'has an incomplete percent-escape before ${path.id}'],
    ['https://api.example.com/%2${path.id}', 'has an incomplete percent-escape before ${path.id}'],
  ])('%s is refused', (url, message) => {
    expect(expand(url, '/orders/42/a/b')).toContain(message);
  });
});

describe('a value', () => {
  test.each([
    ['/orders/a%2Fb/x', 'https://api.example.com/v1/a%2Fb/x'],
    ['/orders/x/..a%2F.b..', 'https://api.example.com/v1/x/..a%2F.b..'],
    ['/orders/%3Fadmin=1%23/x', 'https://api.example.com/v1/%3Fadmin%3D1%23/x'],
    ['/orders/%25%32%65/x', 'https://api.example.com/v1/%252e/x'],
    ['/orders/%5C/%40evil.example', 'https://api.example.com/v1/%5C/%40evil.example'],
    ['/orders/%C3%A9/%0D%0A', 'https://api.example.com/v1/%C3%A9/%0D%0A'],
  ])('in %s is encoded', (path, expected) => {
    expect(expand('https://api.example.com/v1/${path.id}/${path.rest}', path)).toBe(expected);
  });

  test('of any bytes stays below the path of the template', () => {
    const template = 'https://api.example.com/v1/.${path.id}/${path.rest}/end';
    const text = fc.array(fc.constantFrom('/', '.', '..', '%2e', '%2F', '\\', '?', '#', '@', 'é', '%', 'a'), {
      minLength: 1,
      maxLength: 6,
    });
    const value = text
      .map((parts) => parts.join(''))
      .map(encodeURIComponent)
      .filter((one) => decodeSegment(one) !== undefined);
    fc.assert(
      fc.property(value, fc.array(value, { minLength: 1, maxLength: 4 }), (id, rest) => {
        const url = new URL(expand(template, `/orders/${id}/${rest.join('/')}`));
        const segments = url.pathname.split('/');
        expect([url.origin, url.search, url.hash]).toEqual(['https://api.example.com', '', '']);
        expect([segments.length, segments[1], segments.at(-1)]).toEqual([rest.length + 4, 'v1', 'end']);
      }),
    );
  });
});

test.each([
  ['/orders/{id}', '/orders/4%202', 'https://api.example.com/4%202'],
  ['/orders/{id}', '/orders/42/items', undefined],
  ['/orders/{id}', '/orders/%00', undefined],
  ['/orders/{other}', '/orders/42', undefined],
  ['/orders', '/orders', 'https://api.example.com/${path.id}'],
])('the URL for the slug %s and the path %s is %s', (slug, path, expected) => {
  expect(expandUrlFor(slug, 'https://api.example.com/${path.id}', path)).toBe(expected);
});
