import { ApiError } from '@standin/kube';
import { describe, expect, it } from 'vitest';
import { testUser } from '../cluster/cluster-user.testing.ts';
import { establishSession, type Credential } from './establish-session.ts';
import type { NewSession, SessionCookie } from './session-cookie.ts';

const NOW = Date.UTC(2026, 10, 21);
const MAX_AGE_MS = 3_600_000;

const tokenUntil = (expiresAt: number | undefined): string =>
  `e30.${Buffer.from(JSON.stringify({ exp: expiresAt && expiresAt / 1_000 })).toString('base64url')}.sig`;

const REVIEW = { status: { userInfo: { username: 'anna' } } };

interface Options extends Partial<Credential> {
  readonly review?: () => Promise<unknown>;
  readonly isTooLarge?: boolean;
}

/** Signs in, and returns the result and the session that was written to the cookie. */
const establish = async ({ token = 'opaque', review = () => Promise.resolve(REVIEW), ...options }: Options = {}) => {
  let session: NewSession | undefined;
  const cookie = {
    start: (data) => {
      session = data;
      return options.isTooLarge === true ? undefined : ['session'];
    },
  } as Partial<SessionCookie> as SessionCookie;
  const result = await establishSession(
    {
      createUser: () => testUser({ create: review }),
      cookie,
      maxAgeMs: MAX_AGE_MS,
      now: () => NOW,
    },
    { token, refreshToken: options.refreshToken },
  );
  return { result, session };
};

describe('a session', () => {
  it.each([
    ['ends with its token', { token: tokenUntil(NOW + 60_000) }, [60_000, 60_000]],
    [
      'ends after the maximum age if its token is valid for longer',
      { token: tokenUntil(NOW + 1e9) },
      [MAX_AGE_MS, MAX_AGE_MS],
    ],
    [
      'ends after the maximum age if its token has no expiry',
      { token: tokenUntil(undefined) },
      [MAX_AGE_MS, MAX_AGE_MS],
    ],
    ['ends after the maximum age if its token is opaque', { token: 'opaque' }, [MAX_AGE_MS, MAX_AGE_MS]],
    [
      'outlives its token if it has a refresh token',
      { token: tokenUntil(NOW + 60_000), refreshToken: 'r' },
      [60_000, MAX_AGE_MS],
    ],
    [
      'ends after the maximum age with a refresh token',
      { token: tokenUntil(NOW + 1e9), refreshToken: 'r' },
      [MAX_AGE_MS, MAX_AGE_MS],
    ],
  ])('%s', async (_, credential, [tokenMs = 0, sessionMs = 0]) => {
    const { result, session } = await establish(credential);
    expect(result).toEqual({ ok: true, user: 'anna', cookies: ['session'] });
    expect(session).toEqual({
      ...credential,
      user: 'anna',
      tokenExpiresAt: NOW + tokenMs,
      expiresAt: NOW + sessionMs,
    });
  });

  const failure = (status: number) => new ApiError('no', { status, reason: 'Unknown', request: 'POST' });
  it.each<[string, Options, string]>([
    ['text that cannot be in a header', { token: 'a b' }, 'refused'],
    ['a token that is too long', { token: 'a'.repeat(16_385) }, 'refused'],
    ['an invalid token', { review: () => Promise.reject(failure(401)) }, 'refused'],
    ['a token without any permission', { review: () => Promise.reject(failure(403)) }, 'refused'],
    [
      'an anonymous user',
      { review: () => Promise.resolve({ status: { userInfo: { username: 'system:anonymous' } } }) },
      'refused',
    ],
    ['a review without a user', { review: () => Promise.resolve({}) }, 'refused'],
    ['a token that the API server still accepts after its expiry', { token: tokenUntil(NOW - 10_000) }, 'refused'],
    ['a token that expires now', { token: tokenUntil(NOW) }, 'refused'],
    ['an API server that fails', { review: () => Promise.reject(failure(500)) }, 'cluster'],
    ['a token that is too large for a cookie', { isTooLarge: true }, 'large'],
  ])('is refused for %s', async (_, options, expected) => {
    expect((await establish(options)).result).toMatchObject({ ok: false, failure: expected });
  });

  it('does not ask the API server about text that is not a token', async () => {
    let asked = 0;
    await establish({ token: 'a\r\nb', review: () => Promise.resolve((asked += 1)) });
    expect(asked).toBe(0);
  });
});
