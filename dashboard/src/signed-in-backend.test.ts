import { SourceError } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import type { Backend } from './backend.ts';
import { onwardPage } from './redirect-page.ts';
import { signedInBackend } from './signed-in-backend.ts';

const page = (originalUrl: string, accept = 'text/html') => ({ method: 'GET', headers: { accept }, originalUrl });

const thrownBy = async (work: () => unknown): Promise<unknown> => {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};
const thrownResponse = async (work: () => unknown): Promise<{ status: number; location: string | null }> => {
  const thrown = await thrownBy(work);
  if (!(thrown instanceof Response)) throw thrown;
  return { status: thrown.status, location: thrown.headers.get('location') };
};

describe('a page request without a signed-in user', () => {
  it.each([
    ['/p/a/b/endpoints?q=x', '/login?to=%2Fp%2Fa%2Fb%2Fendpoints%3Fq%3Dx'],
    ['//evil.example/', '/login?to=%2Fprojects'],
  ])('for %s is redirected to %s', async (url, location) => {
    expect(await thrownResponse(() => signedInBackend(undefined, page(url)))).toEqual({ status: 302, location });
  });

  it('is also redirected if it is a data request', async () => {
    const answer = await thrownResponse(() => signedInBackend(undefined, page('/p/a/b.data?_routes=x', '*/*')));
    expect(answer).toEqual({ status: 302, location: '/login?to=%2Fp%2Fa%2Fb' });
  });
});

it('other requests without a signed-in user get 401, regardless of proxy headers', async () => {
  const request = { ...page('/events', 'text/event-stream'), headers: { 'x-forwarded-user': 'admin' } };
  expect(await thrownResponse(() => signedInBackend(undefined, request))).toEqual({ status: 401, location: null });
});

describe('a backend', () => {
  const refusing = (error: Error): Backend =>
    ({ mode: 'cluster', resources: { list: () => Promise.reject(error) }, logs: {} }) as unknown as Backend;

  it('redirects to the login page when the token is no longer accepted', async () => {
    const backend = signedInBackend(refusing(new SourceError('Unauthorized', 'Unauthorized')), page('/projects'));
    expect(await thrownResponse(() => backend.resources.list('Project'))).toEqual({
      status: 302,
      location: '/login?to=%2Fprojects&reason=expired',
    });
  });

  it('passes on every other error', async () => {
    const error = new SourceError('Forbidden', 'no');
    expect(await thrownBy(() => signedInBackend(refusing(error), page('/x')).resources.list('Project'))).toBe(error);
  });
});

it('the redirect page contains only its target', () => {
  expect(onwardPage('/x?a=1&b="><script>')).toContain('url=/x?a=1&amp;b=&quot;&gt;&lt;script&gt;');
  expect(onwardPage('/x?b=<script>')).not.toContain('<script>');
});
