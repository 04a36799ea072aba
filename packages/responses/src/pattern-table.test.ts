import { LIMITS } from '@standin/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parameterText } from './parameter-value.ts';
import { patternShape } from './path-pattern.ts';
import { validPattern } from './path-pattern.testing.ts';
import { pathParameters, PatternTable } from './pattern-table.ts';

const patternTable = (slugs: readonly string[]): PatternTable<string> => {
  const table = new PatternTable<string>();
  for (const slug of slugs) table.set(validPattern(slug), slug);
  return table;
};
const parameterTexts = (slug: string, path: string): Record<string, string | undefined> => {
  const parameters = pathParameters(validPattern(slug), path);
  return Object.fromEntries([...parameters.keys()].map((name) => [name, parameterText(parameters, name)]));
};

const SLUGS = [
  '/{a}/{b}',
  '/a/{b}',
  '/{a}/b',
  '/{rest...}',
  '/a/{rest...}',
  '/a/{b}/c',
  '/{a}/',
  '/a/{b}:c',
  '/{a}.d/b',
];

test.each([
  ['/a/b', ['/a/{b}', '/a/{rest...}', '/{a}/b', '/{a}/{b}', '/{rest...}']],
  ['/x/b', ['/{a}/b', '/{a}/{b}', '/{rest...}']],
  ['/a/x/c', ['/a/{b}/c', '/a/{rest...}', '/{rest...}']],
  ['/x', ['/{rest...}']],
  ['/x/', ['/{a}/', '/{rest...}']],
  ['/a/', ['/a/{rest...}', '/{a}/', '/{rest...}']],
  ['/a/x/', ['/a/{rest...}', '/{rest...}']],
  ['/a//x', ['/a/{rest...}', '/{rest...}']],
  ['//b', ['/{rest...}']],
  ['/', ['/{rest...}']],
  ['/a/x:c', ['/a/{b}:c', '/a/{b}', '/a/{rest...}', '/{a}/{b}', '/{rest...}']],
  ['/a/x.y:z:c', ['/a/{b}:c', '/a/{b}', '/a/{rest...}', '/{a}/{b}', '/{rest...}']],
  ['/a/x:c.d', ['/a/{b}', '/a/{rest...}', '/{a}/{b}', '/{rest...}']],
  ['/a/:c', ['/a/{b}', '/a/{rest...}', '/{a}/{b}', '/{rest...}']],
  ['/a/x%3Ac', ['/a/{b}', '/a/{rest...}', '/{a}/{b}', '/{rest...}']],
  ['/a/..:c', ['/a/{b}', '/a/{rest...}', '/{a}/{b}', '/{rest...}']],
  ['/a.d/b', ['/{a}.d/b', '/{a}/b', '/{a}/{b}', '/{rest...}']],
  ['', []],
  ['x/b', []],
  ['/A/b', ['/{a}/b', '/{a}/{b}', '/{rest...}']],
])('%s matches in order of precedence', (path, expected) => {
  expect(patternTable(SLUGS).matches(path)).toEqual(expected);
});

describe('a value', () => {
  test.each([
    ['/orders/1001', '1001'],
    ['/orders/a%2Fb', 'a/b'],
    ['/orders/%C3%A9', 'é'],
    ['/orders/\xc3\xa9', 'é'],
    ['/orders/100%25', '100%'],
    ['/orders/%2e%2e%2e', '...'],
    ['/orders/a+b', 'a+b'],
    ['/orders/%20', ' '],
  ])('in %s is decoded', (path, value) => {
    expect(patternTable(['/orders/{id}']).matches(path)).toHaveLength(1);
    expect(parameterTexts('/orders/{id}', path)).toEqual({ id: value });
  });

  test.each([
    '',
    '.',
    '..',
    '..%2Fa',
    '..;',
    '.;a=b',
    '%2e.%3Ba',
    'a%2F..;b%2Fc',
    'a%2F..',
    'a%2F.%2Fb',
    'a%5C..%5Cb',
    '%2e',
    '%2E%2e',
    '%00',
    'a%00b',
    '%ff',
    '%C3',
    '\xff',
    '%',
    '%2',
    '%zz',
    '%ED%A0%80',
  ])('%s matches no parameter', (segment) => {
    const table = patternTable(['/{id}', '/{a}/b', '/c/{b}', '/c/{b}.json', '/{rest...}']);
    const paths = [`/${segment}`, `/${segment}/b`, `/c/${segment}`, `/c/d/${segment}`, `/c/${segment}/d`];
    expect(paths.flatMap((path) => table.matches(path))).toEqual(
      // An empty segment can be in the rest of a path.
      segment === '' ? paths.map(() => '/{rest...}') : [],
    );
    expect(patternTable(['/c/{b}.json']).matches(`/c/${segment}.json`)).toEqual([]);
  });

  test('of the rest keeps its slashes', () => {
    expect(parameterTexts('/files/{path...}', '/files/a/b%2Fc/%C3%A9')).toEqual({ path: 'a/b/c/é' });
    expect(parameterTexts('/files/{path...}', '/files/')).toEqual({ path: '' });
    expect(parameterTexts('/files/{path...}', '/files/a//b/')).toEqual({ path: 'a//b/' });
    expect(parameterTexts('/{__proto__}', '/x')).toEqual(Object.fromEntries([['__proto__', 'x']]));
  });

  test('of a parameter with a suffix is the text before it', () => {
    expect(parameterTexts('/files/{name}.json', '/files/a%2Fb.c.json')).toEqual({ name: 'a/b.c' });
    expect(parameterTexts('/{a}:x/{b}:yz', '/1:2:x/3:yz')).toEqual({ a: '1:2', b: '3' });
  });

  test('that is not valid does not matter where a literal is', () => {
    expect(patternTable(['/%2/{a}']).matches('/%2/x')).toEqual(['/%2/{a}']);
  });
});

test('any sequence of sets and deletes results in the same table as a new one with the same patterns', () => {
  const segment = fc.constantFrom('a', 'b', '{}', '{}:b', '{}.b');
  const slug = fc
    .tuple(fc.array(segment, { maxLength: 3 }), fc.constantFrom('/{x}', '/{rest...}'))
    .map(([segments, last]) => segments.map((text, index) => `/${text.replace('{', `{p${index}`)}`).join('') + last);
  const step = fc.tuple(fc.boolean(), slug);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const table = new PatternTable<string>();
      const slugs = new Map<string, string>();
      for (const [isSet, one] of steps) {
        const pattern = validPattern(one);
        if (isSet) {
          table.set(pattern, one);
          slugs.set(patternShape(pattern), one);
        } else {
          table.delete(pattern);
          slugs.delete(patternShape(pattern));
        }
      }
      const fresh = patternTable([...slugs.values()]);
      expect(table.isEmpty).toBe(slugs.size === 0);
      for (const path of ['/a', '/c', '/a/b', '/c:b/b', '/a.b/b.b', '/a/b/c', '/a/c:b/b/c', '/c/c/c/c/c', '/a//b/']) {
        expect(table.matches(path)).toEqual(fresh.matches(path));
      }
    }),
  );
});

test('paths with more segments than any pattern match only the rest', () => {
  const table = patternTable(['/{a}/{rest...}', `/{a}${'/b'.repeat(LIMITS.patternSegmentsMax - 1)}`]);
  const path = `/a${'/b'.repeat(LIMITS.patternSegmentsMax - 1)}`;
  expect(table.matches(path)).toHaveLength(2);
  expect(table.matches(`${path}/b`)).toEqual(['/{a}/{rest...}']);
  expect(table.matches(`${path}/b/b/b`)).toEqual(['/{a}/{rest...}']);
});
