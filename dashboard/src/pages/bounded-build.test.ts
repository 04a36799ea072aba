import { SourceError } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { createRequestHandler } from '@remix-run/node';
import { DEPTH_MAX, VALUES_MAX, isBounded } from './bounded-build.ts';
import { NotFound } from '../resources/not-found.ts';
import { signedInBackend } from '../signed-in-backend.ts';
import { WorkRefused } from '../workers/work-refused.ts';
import { testBuild, startPages } from './pages-server.testing.ts';

const nested = (depth: number): unknown => {
  let value: unknown = 'x';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? { a: value } : [value];
  return value;
};
const wide = (count: number): unknown => Array.from({ length: count }, (_, index) => index);

describe('route data', () => {
  it.each([
    ['at the maximum depth', nested(DEPTH_MAX), true],
    ['one level too deep', nested(DEPTH_MAX + 1), false],
    ['100,000 levels deep', nested(100_000), false],
    ['with the maximum number of values', wide(VALUES_MAX), true],
    ['with one value too many', wide(VALUES_MAX + 1), false],
    ['with a promise', { later: Promise.resolve(nested(100_000)) }, false],
    ['as a string', 'x'.repeat(1_000_000), true],
    ['without a value', undefined, true],
  ])('%s is accepted: %s', (_, value, expected) => {
    expect(isBounded(value)).toBe(expected);
  });

  it('is not accepted if it contains itself', () => {
    const self: unknown[] = [];
    self.push(self);
    expect(isBounded(self)).toBe(false);
  });
});

/** Returns the parsed JSON from the form. Pages show similar data from API callers and upstreams. */
const reflect = async ({ request }: { request: Request }): Promise<unknown> =>
  JSON.parse((await request.formData()).get('json') as string) as unknown;
const jsonForm = (json: string): URLSearchParams => new URLSearchParams({ json });
const nestedJson = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('form data in a page (CVE-2026-34077)', () => {
  // The input comes from the advisory. If Remix encodes the input without an error, `bounded-build.ts` is no longer needed.
  it('makes Remix fail in the middle of a response if it is nested 5,000 levels deep', async () => {
    const answer = createRequestHandler(testBuild({ echo: { action: reflect } }) as never, 'production');
    const request = new Request('http://x/echo.data', { method: 'POST', body: jsonForm(nestedJson(5_000)) });
    const response = await answer(request);
    expect(response.status).toBe(200);
    await expect(response.arrayBuffer()).rejects.toThrow('Maximum call stack size exceeded');
  });

  it.each([
    ['it is nested 1,000 levels deep', nested(1_000)],
    ['it has more values than a page may contain', wide(VALUES_MAX + 1)],
  ])('is refused if %s, and the route is logged', async (_, value) => {
    await using pages = await startPages({ echo: { action: () => value } });
    const response = await fetch(`${pages.url}/echo.data`, { method: 'POST', body: jsonForm('{}') });
    expect(await response.text()).toContain('This page is too large to show');
    expect(response.status).toBe(500);
    expect(pages.errors).toEqual([{ route: 'echo' }]);
  });

  it('is encoded if it is within the limits', async () => {
    await using pages = await startPages({ echo: { action: reflect } });
    const response = await fetch(`${pages.url}/echo.data`, { method: 'POST', body: jsonForm(nestedJson(DEPTH_MAX)) });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"data"');
  });
});

describe('a route failure', () => {
  const project = new NotFound('project', 'project default/shop');
  it.each([
    ['a missing project', project, 404, 'Project default/shop not found'],
    ['a missing request', new NotFound('request', 'request'), 404, 'Request not found'],
    ['an API server that is not responding', new SourceError('Unavailable', 'no answer'), 503, 'no answer'],
    ['a missing permission', new SourceError('Forbidden', 'you may not'), 403, 'Permission denied'],
    ['busy workers', new WorkRefused('Busy'), 503, 'The dashboard is busy'],
    ['work that takes too long', new WorkRefused('TooSlow'), 422, 'This request cannot be processed'],
  ])('becomes a page with the reason: %s', async (_, error, status, text) => {
    await using pages = await startPages({ page: { loader: () => Promise.reject(error) } });
    const response = await fetch(`${pages.url}/page`);
    expect(await response.text()).toContain(text);
    expect(response.status).toBe(status);
  });

  it('remains an error if it is unexpected', async () => {
    await using pages = await startPages({ page: { loader: () => Promise.reject(new TypeError('a defect')) } });
    expect((await fetch(`${pages.url}/page`)).status).toBe(500);
  });
});

describe('a data request without a signed-in user', () => {
  const loader = ({ request }: { request: Request }): unknown => {
    const { pathname } = new URL(request.url);
    return signedInBackend(undefined, { method: 'GET', headers: { accept: 'text/html' }, originalUrl: pathname });
  };
  const loginUrl = async (path: string, referer?: string): Promise<string | undefined> => {
    await using pages = await startPages({
      rows: { loader },
      page: { loader, default: () => null },
    });
    const headers = referer === undefined ? {} : { referer };
    const response = await fetch(`${pages.url}${path}`, { headers, redirect: 'manual' });
    return response.headers.get('location') ?? /\/login\?[^"\\]*/.exec(await response.text())?.[0];
  };
  const OTHER = 'https://standin.example.com/p/a/b/traffic?q=x';

  it('leads back to the page that it is for', async () => {
    expect(await loginUrl('/page.data', OTHER)).toBe('/login?to=%2Fpage');
  });

  it.each([
    [OTHER, '/login?to=%2Fp%2Fa%2Fb%2Ftraffic%3Fq%3Dx'],
    ['https://standin.example.com//evil.example/', '/login?to=%2Fprojects'],
    ['no URL', '/login?to=%2Fprojects'],
    [undefined, '/login?to=%2Fprojects'],
  ])('to a route without a page leads back to the page that sent it: %s', async (referer, location) => {
    expect(await loginUrl('/rows.data', referer)).toBe(location);
  });

  it('is different from a link to a file, which leads back to the file', async () => {
    expect(await loginUrl('/rows', OTHER)).toBe('/login?to=%2Frows');
  });
});
