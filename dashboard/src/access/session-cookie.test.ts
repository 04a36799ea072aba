import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSealer } from './seal.ts';
import { sessionCookie, type NewSession, type SessionCookie } from './session-cookie.ts';

const OLD = 'a'.repeat(32);
const NEW = 'b'.repeat(32);
const NOW = Date.UTC(2026, 10, 21);
const HOUR_MS = 3_600_000;

const testCookie = (secrets: readonly [string, ...string[]], isSecure = true): SessionCookie =>
  sessionCookie({ sealer: createSealer(secrets), isSecure, now: () => NOW });
const session = (more: Partial<NewSession> = {}): NewSession => ({
  token: 'ey.ey.sig',
  user: 'anna',
  tokenExpiresAt: NOW + HOUR_MS,
  expiresAt: NOW + HOUR_MS,
  ...more,
});

/** Converts Set-Cookie values to the Cookie header of the browser's next request. */
const browser = (set: readonly string[] = [], before = ''): string => {
  const jar = new Map(before.split('; ').map((pair) => [pair.split('=')[0] ?? '', pair]));
  jar.delete('');
  for (const cookie of set) {
    const [pair = ''] = cookie.split('; ');
    const name = pair.split('=')[0] ?? '';
    if (cookie.includes('Max-Age=0')) jar.delete(name);
    else jar.set(name, pair);
  }
  return [...jar.values()].join('; ');
};

describe('a session', () => {
  it('is read back unchanged, and its cookie reveals nothing', () => {
    const cookie = testCookie([NEW]);
    const set = cookie.start(session({ token: 'secret-token' }));
    expect(cookie.read(browser(set))).toMatchObject(session({ token: 'secret-token' }));
    expect(browser(set).split('; ')).toHaveLength(2);
    expect(set?.[0]).toMatch(
      /^__Host-standin-session=[\w-]+; Path=\/; Max-Age=3600; SameSite=Strict; HttpOnly; Secure$/,
    );
    const decoded = Buffer.from(browser(set).split('=')[1] ?? '', 'base64url').toString('latin1');
    expect(decoded).not.toMatch(/secret|anna/);
  });

  it('has a cookie name without the __Host- prefix over plain HTTP', () => {
    expect(testCookie([NEW], false).start(session())?.[0]).toMatch(/^standin-session=[^;]*; .*HttpOnly$/);
  });

  it('expires', () => {
    const cookie = testCookie([NEW]);
    expect(cookie.read(browser(cookie.start(session({ expiresAt: NOW + 1_000 }))))).toBeDefined();
    expect(cookie.read(browser(cookie.start(session({ expiresAt: NOW }))))).toBeUndefined();
  });

  it('is read if it was sealed with the previous key, but not with an unknown key', () => {
    const before = browser(testCookie([OLD]).start(session()));
    expect(testCookie([NEW, OLD]).read(before)).toMatchObject(session());
    expect(testCookie([NEW]).read(before)).toBeUndefined();
  });

  it('is rejected if its cookie was modified', () => {
    const cookie = testCookie([NEW]);
    const header = browser(cookie.start(session()));
    for (let at = header.indexOf('=') + 1; at < header.length; at += 7) {
      const changed = `${header.slice(0, at)}${header[at] === 'A' ? 'B' : 'A'}${header.slice(at + 1)}`;
      expect(cookie.read(changed)).toBeUndefined();
    }
    expect(cookie.read('__Host-standin-session=; other=1')).toBeUndefined();
    expect(cookie.read(`__Host-standin-session=${randomBytes(100).toString('base64url')}`)).toBeUndefined();
    // The dashboard sealed this value for a different purpose.
    const flow = createSealer([NEW]).seal(JSON.stringify({ ...session(), id: '1' }), 'standin-oidc');
    expect(cookie.read(`__Host-standin-session=${flow}; __Host-standin-session.id=1`)).toBeUndefined();
  });

  it('uses several cookies if it is too large for one, and clears those of an earlier session', () => {
    const cookie = testCookie([NEW]);
    const large = session({ token: 'x'.repeat(6_000) });
    const set = cookie.start(large);
    expect(browser(set).split('; ')).toHaveLength(4);
    for (const part of set ?? []) expect(part.length).toBeLessThan(4_096);
    const header = browser(set);
    expect(cookie.read(header)).toMatchObject(large);
    const small = browser(cookie.start(session()), header);
    expect(small.split('; ')).toHaveLength(2);
    expect(cookie.read(small)).toMatchObject(session());
    expect(browser(cookie.clear(), header)).toBe('');
  });

  it('is read if another tab has stored a larger session since the request was sent', () => {
    const cookie = testCookie([NEW]);
    const other = browser(cookie.start(session({ token: 'x'.repeat(6_000) })));
    expect(cookie.read(browser(cookie.start(session()), other))).toMatchObject(session());
  });

  describe('that is renewed', () => {
    const cookie = testCookie([NEW]);
    const signedIn = browser(cookie.start(session()));
    /** Returns the cookies that the browser has when a renewal that began after sign-in ends. */
    const afterRenewal = (now: string): string => {
      const old = cookie.read(signedIn);
      if (old === undefined) throw new Error('not signed in');
      return browser(cookie.renew({ ...old, token: 'renewed' }), now);
    };

    it('is read with its new token', () => {
      expect(cookie.read(afterRenewal(signedIn))).toMatchObject({ user: 'anna', token: 'renewed' });
    });

    it('does not begin again if the user has signed out meanwhile', () => {
      expect(cookie.read(afterRenewal(browser(cookie.clear(), signedIn)))).toBeUndefined();
    });

    it('does not replace the session of another user who has signed in meanwhile', () => {
      const other = browser(cookie.start(session({ user: 'berta' })), signedIn);
      expect(cookie.read(other)).toMatchObject({ user: 'berta' });
      expect(cookie.read(afterRenewal(other))).toBeUndefined();
    });
  });

  it('is refused if it exceeds the limit', () => {
    expect(testCookie([NEW]).start(session({ token: 'x'.repeat(9_000) }))).toBeUndefined();
  });
});
