import { SourceError } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { createRequestHandler } from '@remix-run/node';
import { DEPTH_MAX, VALUES_MAX, isBounded } from './bounded-build.ts';
import { NotFound } from '../resources/not-found.ts';
import { WorkRefused } from '../workers/work-refused.ts';
import { buildOf, startPages } from './pages-server.testing.ts';

const nested = (depth: number): unknown => {
  let value: unknown = 'x';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? { a: value } : [value];
  return value;
};
const wide = (count: number): unknown => Array.from({ length: count }, (_, index) => index);

describe('the data of a route', () => {
  it.each([
    ['as deep as is allowed', nested(DEPTH_MAX), true],
    ['one level deeper', nested(DEPTH_MAX + 1), false],
    ['of 100,000 levels', nested(100_000), false],
    ['with as many values as are allowed', wide(VALUES_MAX), true],
    ['with one value more', wide(VALUES_MAX + 1), false],
    ['with a promise', { later: Promise.resolve(nested(100_000)) }, false],
    ['that is a string', 'x'.repeat(1_000_000), true],
    ['that is missing', undefined, true],
  ])('%s is within bounds: %s', (_, value, expected) => {
    expect(isBounded(value)).toBe(expected);
  });

  it('that contains itself is not within bounds', () => {
    const self: unknown[] = [];
    self.push(self);
    expect(isBounded(self)).toBe(false);
  });
});

/** Returns data as a caller of the API, or an upstream, could send it to be shown again. */
const reflect = async ({ request }: { request: Request }): Promise<unknown> =>
  JSON.parse((await request.formData()).get('json') as string) as unknown;
const formOf = (json: string): URLSearchParams => new URLSearchParams({ json });
const nestedJson = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('form data in a page (CVE-2026-34077)', () => {
  // The advisory's input, and the reason for this module. Once Remix encodes it without failing, the module can be removed.
  it('fails in the middle of a response of Remix when it is nested 5,000 times', async () => {
    const answer = createRequestHandler(buildOf({ echo: { action: reflect } } as never) as never, 'production');
    const request = new Request('http://x/echo.data', { method: 'POST', body: formOf(nestedJson(5_000)) });
    const response = await answer(request);
    expect(response.status).toBe(200);
    await expect(response.arrayBuffer()).rejects.toThrow('Maximum call stack size exceeded');
  });

  it.each([
    ['nested 1,000 times', nested(1_000)],
    ['with more values than a page may have', wide(VALUES_MAX + 1)],
  ])('is refused if %s, and the route is logged', async (_, value) => {
    await using pages = await startPages({ echo: { action: () => value } });
    const response = await fetch(`${pages.url}/echo.data`, { method: 'POST', body: formOf('{}') });
    expect(await response.text()).toContain('This page is too large to show');
    expect(response.status).toBe(500);
    expect(pages.errors).toEqual([{ route: 'echo' }]);
  });

  it('is encoded if it is within bounds', async () => {
    await using pages = await startPages({ echo: { action: reflect as never } });
    const response = await fetch(`${pages.url}/echo.data`, { method: 'POST', body: formOf(nestedJson(DEPTH_MAX)) });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"data"');
  });
});

describe('a failure of a route', () => {
  const project = new NotFound('project', 'project default/shop');
  it.each([
    ['a missing project', project, 404, 'Project default/shop not found'],
    ['a missing request', new NotFound('request', 'request'), 404, 'Request not found'],
    ['an API server that does not respond', new SourceError('Unavailable', 'no answer'), 503, 'no answer'],
    ['a missing right', new SourceError('Forbidden', 'you may not'), 403, 'Permission denied'],
    ['busy workers', new WorkRefused('Busy'), 503, 'The dashboard is busy'],
    ['work that takes too long', new WorkRefused('TooSlow'), 422, 'This request cannot be processed'],
  ])('is a page with the reason: %s', async (_, error, status, text) => {
    await using pages = await startPages({ page: { loader: () => Promise.reject(error) } });
    const response = await fetch(`${pages.url}/page`);
    expect(await response.text()).toContain(text);
    expect(response.status).toBe(status);
  });

  it('stays an error if it is unexpected', async () => {
    await using pages = await startPages({ page: { loader: () => Promise.reject(new TypeError('a defect')) } });
    expect((await fetch(`${pages.url}/page`)).status).toBe(500);
  });
});
