import type { ClusterUser } from '../cluster/cluster-user.ts';
import { checkToken, tokenExpiry } from './check-token.ts';
import type { NewSession, SessionCookie } from './session-cookie.ts';
import type { SignInResult } from './sign-in.ts';

export interface EstablishParts {
  readonly createUser: (token: string) => ClusterUser;
  readonly cookie: SessionCookie;
  readonly maxAgeMs: number;
  readonly now?: () => number;
}

/** A credential that has not been verified yet. */
export interface Credential {
  readonly token: string;
  readonly refreshToken?: string | undefined;
}

const TOKEN_CHARS_MAX = 16_384;
/** The syntax of a bearer token (RFC 6750 section 2.1). Other text could not be sent in an `Authorization` header. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Asks the API server which user owns the token, and creates a session for that user. */
export const establishSession = async (
  { createUser, cookie, maxAgeMs, now = Date.now }: EstablishParts,
  { token, refreshToken }: Credential,
): Promise<SignInResult> => {
  if (token.length > TOKEN_CHARS_MAX || !TOKEN.test(token)) {
    return refusal(
      'refused',
      `Invalid bearer token. A token must contain only letters, digits and -._~+/=, and at most ${TOKEN_CHARS_MAX.toLocaleString('en')} characters.`,
    );
  }
  const check = await checkToken(createUser(token));
  if (check.kind === 'unknown') return refusal('cluster', `Cannot check the token: ${check.message}.`);
  if (check.kind === 'invalid') {
    return refusal(
      'refused',
      'The Kubernetes API server does not accept this token. It may have expired or belong to another cluster.',
    );
  }
  const { user } = check;
  const at = now();
  const session = createSession({ token, refreshToken, user, at, maxAgeMs });
  // The API server accepts tokens for some time after they expire. Browsers would drop the cookie of such a session at once.
  if (session.expiresAt <= at)
    return refusal('refused', 'This token has expired. Create a new one. If it is new, check the dashboard’s clock.');
  const cookies = cookie.start(session);
  if (cookies === undefined) {
    return refusal(
      'large',
      'The token is too large for a cookie. Ask your administrator for a token with fewer groups.',
    );
  }
  return { ok: true, user, cookies };
};

const refusal = (failure: 'refused' | 'cluster' | 'large', message: string): SignInResult => ({
  ok: false,
  failure,
  message,
});

interface SessionOptions {
  readonly token: string;
  readonly refreshToken: string | undefined;
  readonly user: string;
  readonly at: number;
  readonly maxAgeMs: number;
}

const createSession = ({ token, refreshToken, user, at, maxAgeMs }: SessionOptions): NewSession => {
  const latest = at + maxAgeMs;
  const tokenExpiresAt = Math.min(tokenExpiry(token) ?? latest, latest);
  // A session with a refresh token can outlive its token.
  return refreshToken === undefined
    ? { token, user, tokenExpiresAt, expiresAt: tokenExpiresAt }
    : { token, user, tokenExpiresAt, expiresAt: latest, refreshToken };
};
