import { describe, expect, it } from 'vitest';
import { examplePath, exampleRequest } from './example-request.ts';

describe('an example request', () => {
  const fields = { method: 'POST', target: '', headers: '', body: '' };

  it.each([
    ['/v1/orders', '/v1/orders'],
    ['/v1/{id}/{rest...}', '/v1/1/1'],
    ['/a/{x', '/a/{x'],
  ])('has a path that the slug %s matches', (slug, path) => {
    expect(examplePath(slug)).toBe(path);
    expect(exampleRequest(slug, fields)).toMatchObject({ path, query: '', headers: [] });
  });

  it('has what the user describes, as on the wire', () => {
    expect(exampleRequest('/', { ...fields, target: '/é?a=b?c', headers: 'X-Plan: é\n\n a:', body: 'é' })).toEqual({
      method: 'POST',
      path: '/Ã©',
      query: 'a=b?c',
      body: Buffer.from('é'),
      headers: [
        ['X-Plan', 'Ã©'],
        ['a', ''],
      ],
    });
  });

  it.each([
    [{ target: 'a' }, 'The path of the request must begin with a slash'],
    [{ target: '/a b' }, 'must not contain spaces'],
    [{ headers: 'a: b\na b: c' }, 'Line 2 of the headers must be a header, such as x-plan: gold.'],
  ])('%j is rejected', (invalid, message) => {
    expect(exampleRequest('/', { ...fields, ...invalid })).toEqual({
      unavailable: expect.stringContaining(message) as string,
    });
  });
});
