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
  return oidc({
    options: { issuer, clientId: 'standin', scopes: ['openid'], name: 'Provider', url: 'https://standin.example.com' },
    sealer: createSealer(['a secret of at least 32 characters']),
    isSecure: true,
    establish: () => Promise.reject(new Error('unused')),
    logger: pino({ level: 'silent' }),
  });
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
