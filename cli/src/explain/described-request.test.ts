import { expect, test } from 'vitest';
import { addHeaderLine, parsePath, readDescribedRequest } from './described-request.ts';

test.each([
  ['x-plan: gold', ['x-plan', 'gold']],
  ['X-Plan:gold', ['X-Plan', 'gold']],
  ['x-empty:', ['x-empty', '']],
  ['x-url: \thttp://a:1/  ', ['x-url', 'http://a:1/']],
  ['x-name: é', ['x-name', 'Ã©']],
])('the header %j is parsed', (text, header) => {
  expect(addHeaderLine(text, [['a', 'b']])).toEqual([['a', 'b'], header]);
});

test.each(['', 'gold', ': gold', 'x plan: gold', 'x-plan : gold', 'x-plan: a\r\nb: c', 'x-plan: \0', 'é: a'])(
  'the header %j is refused with an example',
  (text) => {
    expect(() => addHeaderLine(text)).toThrow("must be a header on one line, such as 'x-plan: gold'.");
  },
);

test.each(['', 'v1', 'http://a/b', '/a b', '/a#b', '/a\n'])('the path %j is refused with an example', (text) => {
  expect(() => parsePath(text)).toThrow('must be a path such as /v1/orders/7?expand=items');
});

test.each([
  ['/a', '/a', ''],
  ['/a?', '/a', ''],
  ['/a?b=c?d', '/a', 'b=c?d'],
  ['/é', '/Ã©', ''],
])('the target %s has a path and a query', async (target, path, query) => {
  expect(await readDescribedRequest({ path: parsePath(target) })).toMatchObject({
    method: 'GET',
    path,
    query,
    headers: [],
  });
});

test('a body makes POST the default method', async () => {
  expect(await readDescribedRequest({ path: '/', body: 'é' })).toMatchObject({
    method: 'POST',
    body: Buffer.from('é'),
  });
  expect(await readDescribedRequest({ path: '/', body: 'é', method: 'PUT' })).toMatchObject({ method: 'PUT' });
});

test('a body can be the bytes of a file, which must exist', async () => {
  const file = import.meta.filename;
  expect((await readDescribedRequest({ path: '/', body: `@${file}` })).body.toString()).toContain(
    'can be the bytes of a file',
  );
  await expect(readDescribedRequest({ path: '/', body: '@/no/such/file' })).rejects.toThrow(
    '/no/such/file does not exist',
  );
});
