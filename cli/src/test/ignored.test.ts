import { expect, test } from 'vitest';
import { Ignored } from './ignored.ts';

test.each<[string, readonly string[], readonly string[]]>([
  ['$.id', ['$.id', '$.id.a[0]', '$.id (2)'], ['$', '$.ids', '$.a.id', '$[0].id']],
  ['$.items[*].id', ['$.items[0].id', '$.items[12].id.a'], ['$.items', '$.items[0]', '$.items.id']],
  ['$.items[1]', ['$.items[1]', '$.items[1].a'], ['$.items[11]', '$.items[0]']],
  ['$..id', ['$.id', '$.a.b[3].id', '$.id.a'], ['$', '$.a.ids']],
  ['$.*.id', ['$.a.id', '$.b.id'], ['$.id', '$.a.b.id']],
  ['$["a b"]["c.d"]', ['$["a b"]["c.d"]'], ['$["a b"].c']],
  ['$..["x-y"][*]', ['$.a["x-y"][1]'], ['$.a["x-y"]']],
  ['$["*"]', ['$["*"]'], ['$.a']],
  ['$.a..b..c', ['$.a.b.c', '$.a.x.b.y.c'], ['$.a.c.b', '$.b.a.c']],
])('%s ignores %j, but not %j', (text, matching, others) => {
  const ignored = new Ignored().add(text);
  expect(matching.filter((path) => !ignored.path(path))).toEqual([]);
  expect(others.filter((path) => ignored.path(path))).toEqual([]);
});

test('a header is ignored regardless of case', () => {
  const ignored = new Ignored().add('header:ETag').add('$.a');
  expect([ignored.header('etag'), ignored.header('ETAG'), ignored.header('age')]).toEqual([true, true, false]);
});

test.each([
  '',
  '$',
  'id',
  '.id',
  '$id',
  '$.',
  '$.a.',
  '$..',
  '$[',
  '$[a]',
  '$["a]',
  '$.a[?(@.b)]',
  'header:',
  'header:a b',
  '$.a b',
])('%j is refused with an example', (text) => {
  expect(() => new Ignored().add(text)).toThrow("must be a path such as '$.id'");
});

test('takes little time for a long path', () => {
  const ignored = new Ignored().add(`$${'..a'.repeat(60)}`);
  expect(ignored.path(`$${'.a'.repeat(2_000)}`)).toBe(true);
  expect(ignored.path(`$${'.a'.repeat(59)}${'.b'.repeat(2_000)}`)).toBe(false);
});
