import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Tokens } from './oidc.ts';
import { renewSessions } from './renew-sessions.ts';
import type { SessionData } from './session-cookie.ts';

const NOW = Date.UTC(2026, 10, 21);
const session: SessionData = {
  id: '1',
  token: 'old',
  user: 'anna',
  refreshToken: 'refresh-1',
  tokenExpiresAt: NOW,
  expiresAt: NOW + 3_600_000,
};
const idToken = (expiresAt: number): string =>
  `e30.${Buffer.from(JSON.stringify({ exp: expiresAt / 1_000 })).toString('base64url')}.sig`;
const logger = pino({ level: 'silent' });

const renewer = (refresh: (refreshToken: string) => Promise<Tokens | undefined>, rememberedMax?: number) => {
  const asked: string[] = [];
  const clock = { now: NOW };
  const renew = renewSessions({
    refresh: ({ refreshToken }) => {
      asked.push(refreshToken);
      return refresh(refreshToken);
    },
    logger,
    now: () => clock.now,
    ...(rememberedMax !== undefined && { rememberedMax }),
  });
  return { asked, clock, renew };
};

it('a session is renewed once for concurrent requests with the old token', async () => {
  const next = idToken(NOW + 60_000);
  const { asked, clock, renew } = renewer(() => Promise.resolve({ idToken: next, refreshToken: 'refresh-2' }));
  const renewed = { ...session, token: next, tokenExpiresAt: NOW + 60_000, refreshToken: 'refresh-2' };
  expect(await Promise.all([renew(session), renew(session)])).toEqual([renewed, renewed]);
  clock.now += 59_000;
  expect(await renew(session)).toEqual(renewed);
  expect(asked).toEqual(['refresh-1']);
  clock.now += 2_000;
  await renew(session);
  expect(asked).toEqual(['refresh-1', 'refresh-1']);
});

it('a user with many sessions does not displace the renewal of another user', async () => {
  const { asked, renew } = renewer(() => Promise.resolve({ idToken: idToken(NOW), refreshToken: undefined }), 4);
  await renew(session);
  for (let index = 0; index < 10; index += 1)
    await renew({ ...session, user: 'bob', refreshToken: `refresh of bob ${index}` });
  await renew(session);
  expect(asked.filter((token) => token === 'refresh-1')).toHaveLength(1);
});

it('a token expires no later than its session, and the refresh token is kept if the provider does not return a new one', async () => {
  const { renew } = renewer(() => Promise.resolve({ idToken: idToken(NOW + 1e9), refreshToken: undefined }));
  expect(await renew(session)).toMatchObject({ tokenExpiresAt: session.expiresAt, refreshToken: 'refresh-1' });
});

it('a session ends if it has no refresh token, or if the provider refuses it or is unreachable', async () => {
  expect(await renewer(() => Promise.resolve(undefined)).renew(session)).toBeUndefined();
  expect(await renewer(() => Promise.reject(new Error('unreachable'))).renew(session)).toBeUndefined();
  const { asked, renew } = renewer(() => Promise.resolve(undefined));
  expect(await renew({ ...session, refreshToken: undefined })).toBeUndefined();
  expect(asked).toEqual([]);
});

it('a session is renewed by the next request if the provider was unavailable', async () => {
  let isAvailable = false;
  const { asked, renew } = renewer(() =>
    isAvailable
      ? Promise.resolve({ idToken: idToken(NOW + 60_000), refreshToken: undefined })
      : Promise.reject(new Error('unavailable')),
  );
  expect(await Promise.all([renew(session), renew(session)])).toEqual([undefined, undefined]);
  isAvailable = true;
  expect(await renew(session)).toMatchObject({ tokenExpiresAt: NOW + 60_000 });
  expect(asked).toHaveLength(2);
});
