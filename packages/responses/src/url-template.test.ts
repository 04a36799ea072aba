import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeSegment } from './parameter-value.ts';
import { validPattern } from './path-pattern.testing.ts';
import { expandUrl, expandUrlFor, parseUrlTemplate } from './url-template.ts';

const SLUG = '/orders/{id}/{rest...}';
const pattern = validPattern(SLUG);
const expand = (url: string, path: string): string => {
  const parsed = parseUrlTemplate(url, pattern);
  return parsed.ok ? expandUrl(parsed.template, path) : parsed.message;
};

describe('a URL', () => {
  test.each([
    ['https://api.example.com/v1', 'https://api.example.com/v1'],
    ['https://api.example.com/v1/${path.id}', 'https://api.example.com/v1/42'],
    ['https://api.example.com/${ path.id }/x?o=1', 'https://api.example.com/42/x?o=1'],
    ['https://api.example.com?o=${path.id}', 'https://api.example.com?o=42'],
    ['https://api.example.com/${path.rest}', 'https://api.example.com/a/b'],
    ['https://api.example.com/$${path.id}/$/{x}', 'https://api.example.com/${path.id}/$/{x}'],
    ['https://api.example.com/.${path.id}', 'https://api.example.com/.42'],
    ['https://api.example.com/...${path.rest}...', 'https://api.example.com/...a/b...'],
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
    ['https://api.example.com/v1/..${path.id}', 'has ${path.id} at character 30 beside dots, with which'],
    ['https://api.example.com/v1/%2E.${path.id}', 'beside dots'],
    ['https://api.example.com/v1/..${path.rest}', 'beside dots'],
    ['https://api.example.com/v1/${path.rest}..', 'beside dots'],
    ['https://api.example.com/v1/${path.rest}.%2e;x/a', 'beside dots'],
    ['https://api.example.com/v1/.${path.rest}.?x', 'beside dots'],
  ])('%s is refused', (url, message) => {
    expect(expand(url, '/orders/42/a/b')).toContain(message);
  });
});

describe('a value', () => {
  test.each([
    ['/a:b/c', '/a:b/c'],
    ["/Orders('a')/-._~!$&'()*+,;=:@", "/Orders('a')/-._~!$&'()*+,;=:@"],
    ['/a%2Fb/x', '/a%2Fb/x'],
    ['/x/..a%2F.b..', '/x/..a%2F.b..'],
    ['/%3Fadmin=1%23/x', '/%3Fadmin=1%23/x'],
    ['/%25%32%65/x', '/%25%32%65/x'],
    ['/%5C/%40evil.example', '/%5C/%40evil.example'],
    ['/%c3%A9/%0D%0A', '/%c3%A9/%0D%0A'],
    ['/a\\b/"<>[]^`{|}', '/a%5Cb/%22%3C%3E%5B%5D%5E%60%7B%7C%7D'],
    ['/\xc3\xa9/x', '/%C3%A9/x'],
    ['/a;b=c/d;e', '/a;b=c/d;e'],
    ['/a/', '/a/'],
    ['/a/b/', '/a/b/'],
    ['/a//b', '/a//b'],
  ])('in %s is inserted as it was sent', (path, expected) => {
    expect(expand('https://api.example.com/v1/${path.id}/${path.rest}', `/orders${path}`)).toBe(
      `https://api.example.com/v1${expected}`,
    );
  });

  test.each([
    ['/a&admin=1/b+c;d', 'id=a%26admin%3D1&rest=b%2Bc%3Bd'],
    ['/a%26b/%C3%A9/\xc3\xa9', 'id=a%26b&rest=%C3%A9/%C3%A9'],
  ])('in %s adds no parameter to a query', (path, expected) => {
    const url = 'https://api.example.com/?id=${path.id}&rest=${path.rest}';
    expect(expand(url, `/orders${path}`)).toBe(`https://api.example.com/?${expected}`);
  });

  test('of a parameter with a suffix is without the suffix', () => {
    const url = 'https://api.example.com/${path.id}';
    expect(expandUrlFor('/orders/{id}:cancel', url, '/orders/a:b:cancel')).toBe('https://api.example.com/a:b');
    expect(expandUrlFor('/orders/{id}:cancel', url, '/orders/a:b')).toBeUndefined();
  });

  test('of any bytes stays below the path of the template', () => {
    const template = 'https://api.example.com/v1/.${path.id}/${path.rest}/end';
    const piece = fc.constantFrom(
      '/',
      '.',
      '..',
      '%2e',
      '%2F',
      '\\',
      '?',
      '#',
      '@',
      'é',
      '%',
      'a',
      ';',
      '&',
      '=',
      '+',
      ':',
    );
    const text = fc.array(piece, { minLength: 1, maxLength: 6 });
    const value = fc
      .tuple(text, fc.boolean())
      .map(([parts, isEncoded]) => parts.map((part) => (isEncoded ? encodeURIComponent(part) : part)).join(''))
      .map((one) => Buffer.from(one).toString('latin1'))
      .filter((one) => !/[/?#]/.test(one) && decodeSegment(one) !== undefined);
    const rests = fc.array(fc.oneof(value, fc.constant('')), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(value, rests, (id, rest) => {
        const expanded = expand(template, `/orders/${id}/${rest.join('/')}`);
        const url = new URL(expanded);
        const segments = url.pathname.split('/');
        expect([url.href, url.origin, url.search, url.hash]).toEqual([expanded, 'https://api.example.com', '', '']);
        expect([segments.length, segments[1], segments.at(-1)]).toEqual([rest.length + 4, 'v1', 'end']);
        const names = segments.map((segment) => decodeURIComponent(segment).replace(/;.*$/s, ''));
        expect(names.flatMap((name) => name.split(/[/\\]/))).not.toContain('..');
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
