import { ResponseBodyError } from 'openid-client';
import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { isRejection, oidc } from './oidc.ts';
import { createSealer } from './seal.ts';

const response = (status: number): ResponseBodyError =>
  new ResponseBodyError('', { cause: { error: 'invalid_grant' }, response: new Response('', { status }) });

it.each([
  ['a provider that does not accept the refresh token', response(400), true],
  ['a provider that does not accept the client', response(401), true],
  ['a provider that limits the rate', response(429), false],
  ['a provider that fails', response(500), false],
  ['a provider that is unreachable', new TypeError('fetch failed'), false],
])('a session ends only if the provider rejects it: %s', (_, error, isRejected) => {
  expect(isRejection(error)).toBe(isRejected);
});

const issuer = 'https://provider.example.com';
const discovered = (): Response =>
  Response.json({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
  });

/** Returns a provider whose HTTP calls `fetched` responds to. */
const startProvider = (fetched: typeof fetch) => {
  vi.stubGlobal('fetch', fetched);
  onTestFinished(() => void vi.unstubAllGlobals());
  const lines: string[] = [];
  const provider = oidc({
    options: { issuer, clientId: 'standin', scopes: ['openid'], name: 'Provider', url: 'https://standin.example.com' },
    sealer: createSealer(['a secret of at least 32 characters']),
    isSecure: true,
    logger: pino({}, { write: (line) => void lines.push((JSON.parse(line) as { readonly msg: string }).msg) }),
  });
  const unused = () => Promise.reject(new Error('unused'));
  const signInAs = (holder: string, { signal } = new AbortController()) =>
    provider.signInFor({ findHolder: () => Promise.resolve(holder), signal }, unused);
  return { ...signInAs('network a'), signInAs, lines, refresh: (token: string) => provider.refresh(token, 'ada') };
};

it('a provider that is unavailable at first is discovered at the next sign-in, and then only once', async () => {
  const fetched = vi.fn<typeof fetch>(() => Promise.resolve(discovered()));
  fetched.mockRejectedValueOnce(new TypeError('fetch failed'));
  const provider = startProvider(fetched);
  await expect(provider.begin('/')).rejects.toThrow('fetch failed');
  for (const to of ['/', '/projects'])
    expect((await provider.begin(to)).location).toMatch(/^https:\/\/provider\.example\.com\/authorize\?/);
  expect(fetched).toHaveBeenCalledTimes(2);
});

it('no request waits longer than five seconds for a provider that does not respond', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  onTestFinished(() => timeout.mockRestore());
  const fetched = vi.fn<typeof fetch>(() => Promise.reject(new TypeError('fetch failed')));
  fetched.mockResolvedValueOnce(discovered());
  await expect(startProvider(fetched).refresh('token')).rejects.toThrow('fetch failed');
  expect(timeout.mock.calls).toEqual([[5_000], [5_000]]);
});

it('a sign-in that another tab has replaced is reported as such, and the other one can be finished', async () => {
  const provider = startProvider(() => Promise.resolve(discovered()));
  const [first, second] = [await provider.begin('/projects'), await provider.begin('/projects')];
  const finish = async ({ location }: typeof first) => {
    const query = new URLSearchParams({ code: 'code', state: new URL(location).searchParams.get('state') ?? '' });
    const cookie = second.cookies[0]?.split(';')[0];
    const { result } = await provider.finish(`/login/oidc/callback?${query.toString()}`, cookie);
    return result.ok || result.failure;
  };
  expect(await finish(first)).toBe('stale');
  // This sign-in gets as far as the provider, whose response to the code is not a token.
  expect(await finish(second)).toBe('provider');
});

it('one network has half of the calls to the provider, so that others can sign in', async () => {
  let calls = 0;
  const provider = startProvider((_, init) => {
    if (init?.method !== 'POST') return Promise.resolve(discovered());
    calls += 1;
    return new Promise<never>(() => undefined);
  });
  const finish = async (holder: string, left?: AbortController) => {
    const { location, cookies } = await provider.begin('/');
    const query = new URLSearchParams({ code: 'code', state: new URL(location).searchParams.get('state') ?? '' });
    const callback = `/login/oidc/callback?${query.toString()}`;
    return provider.signInAs(holder, left).finish(callback, cookies[0]?.split(';')[0]);
  };
  for (let sent = 0; sent < 20; sent += 1) void finish('network a');
  await expect.poll(() => calls).toBe(8);
  void finish('network b');
  await expect.poll(() => calls).toBe(9);
  const left = new AbortController();
  const leaving = finish('network a', left);
  await new Promise(setImmediate);
  left.abort();
  await leaving;
  expect(provider.lines).toEqual([]);
  for (let sent = 0; sent < 128; sent += 1) void finish('network a');
  expect(await finish('network a')).toMatchObject({ result: { ok: false, failure: 'provider' } });
  expect(new Set(provider.lines)).toEqual(new Set(['sign-in did not reach the identity provider']));
});
