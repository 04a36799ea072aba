import { FairQueue } from '@standin/contract';
import type { Logger } from 'pino';
import * as openid from 'openid-client';
import { z } from 'zod';
import type { Pools } from '../pools.ts';
import type { Sender } from '../sender.ts';
import { readCookies, setCookie } from './cookies.ts';
import { returnPath } from './return-path.ts';
import type { Sealer } from './seal.ts';
import type { ProviderSignIn, SignInResult } from './sign-in.ts';

export interface OidcOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly scopes: readonly string[];
  readonly name: string;
  /** The dashboard's URL in browsers, such as `https://standin.example.com`. */
  readonly url: string;
}

export interface OidcParts {
  readonly options: OidcOptions;
  readonly sealer: Sealer;
  readonly isSecure: boolean;
  readonly logger: Logger;
  readonly pools?: Pools | undefined;
}

/** The provider's tokens. `idToken` is sent to the API server. */
export interface Tokens {
  readonly idToken: string;
  readonly refreshToken: string | undefined;
}

/** Creates a session from the provider's tokens. */
type Establish = (tokens: Tokens) => Promise<SignInResult>;

export interface Oidc {
  /** Returns the sign-in of one request. */
  signInFor(sender: Sender, establish: Establish): ProviderSignIn;
  /**
   * Resolves to undefined if the provider rejects the refresh token. Rejects if the provider does not respond, fails, or returns no
   * ID token.
   */
  refresh(refreshToken: string, holder: string): Promise<Tokens | undefined>;
}

const CALLBACK_PATH = '/login/oidc/callback';
/** Maximum duration of a sign-in. It is long enough for a user to enter a password and a second factor. */
const FLOW_S_MAX = 600;
/** Maximum duration of a call to the provider. While a session is renewed, each of its requests waits for the call. */
const PROVIDER_S_MAX = 5;
/** Maximum number of calls to the provider at the same time. Anyone can begin sign-ins, and one network can have half of them. */
const CALLS_MAX = 16;
/** Maximum number of running and waiting calls. */
const WAITING_MAX = 256;

/** The call is refused before it is sent. */
class BusyError extends Error {
  override readonly name = 'BusyError';
}

const flowSchema = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), to: z.string() });

/**
 * Implements the authorization code flow with PKCE for one provider. Stores the flow's state in a sealed cookie, so any replica can
 * finish it.
 */
export const oidc = ({ options, sealer, isSecure, logger, pools }: OidcParts): Oidc => {
  const configuration = discoverOnce(options);
  const calls = new FairQueue({
    runningMax: CALLS_MAX,
    callsMax: WAITING_MAX,
    waitMs: PROVIDER_S_MAX * 1_000,
    refusal: () => new BusyError('too many calls to the identity provider are in progress for this network or user'),
  });
  pools?.set('provider_connections', calls.running).set('provider_calls', calls.calls);
  const redirectUri = new URL(CALLBACK_PATH, options.url).href;
  const name = isSecure ? '__Host-standin-oidc' : 'standin-oidc';
  // Lax, because the provider redirects to the dashboard from another site.
  const flowCookie = (value: string, maxAgeS: number): string =>
    setCookie(name, value, { maxAgeS, sameSite: 'Lax', isSecure });
  const exchange = async (callback: string, flow: z.infer<typeof flowSchema>): Promise<Tokens> =>
    toTokens(
      await openid.authorizationCodeGrant(await configuration(), new URL(callback, options.url), {
        pkceCodeVerifier: flow.verifier,
        expectedState: flow.state,
        expectedNonce: flow.nonce,
        idTokenExpected: true,
      }),
    );
  const signInFor: Oidc['signInFor'] = ({ findHolder, signal }, establish) => ({
    name: options.name,
    begin: async (to) => {
      const verifier = openid.randomPKCECodeVerifier();
      const flow = { state: openid.randomState(), nonce: openid.randomNonce(), verifier, to: returnPath(to) };
      const { href } = openid.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: options.scopes.join(' '),
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { location: href, cookies: [flowCookie(sealer.seal(JSON.stringify(flow), name), FLOW_S_MAX)] };
    },
    finish: async (callback, cookies) => {
      const sealed = readCookies(cookies).get(name) ?? '';
      const plain = sealer.open(sealed, name);
      const flow = plain === undefined ? undefined : flowSchema.safeParse(JSON.parse(plain)).data;
      const to = returnPath(flow?.to);
      // A sign-in in another tab has replaced the cookie.
      const isOther = new URL(callback, options.url).searchParams.get('state') !== flow?.state;
      if (flow === undefined || isOther)
        return { to, result: failed('stale', 'this sign-in is not in progress in this browser') };
      try {
        const tokens = await calls.run(await findHolder(), () => exchange(callback, flow), signal);
        const result = await establish(tokens);
        return { to, result: result.ok ? { ...result, cookies: [...result.cookies, flowCookie('', 0)] } : result };
      } catch (error) {
        if (error instanceof BusyError) logger.warn({ err: error }, 'sign-in did not reach the identity provider');
        else if (!signal.aborted) logger.warn({ err: error }, 'sign-in rejected by the identity provider');
        return { to, result: failed('provider', String(error)) };
      }
    },
  });
  return {
    signInFor,
    refresh: async (refreshToken, holder) => {
      try {
        const grant = async () => openid.refreshTokenGrant(await configuration(), refreshToken);
        return toTokens(await calls.run(holder, grant));
      } catch (error) {
        if (isRejection(error)) return undefined;
        throw error;
      }
    },
  };
};

/** Returns whether the provider rejected a refresh token. A provider that fails or limits the rate has not rejected it. */
export const isRejection = (error: unknown): boolean =>
  error instanceof openid.ResponseBodyError && error.status < 500 && error.status !== 429;

const failed = (failure: 'stale' | 'provider', message: string): SignInResult => ({ ok: false, failure, message });

const toTokens = ({ id_token, refresh_token }: openid.TokenEndpointResponse): Tokens => {
  if (id_token === undefined) throw new Error('the provider returned no ID token; add openid to the scopes');
  return { idToken: id_token, refreshToken: refresh_token };
};

/**
 * Discovers the provider at the first use, so that users can sign in with a token if the provider is unreachable. Retries at the
 * next use after a failure.
 */
const discoverOnce = ({ issuer, clientId, clientSecret }: OidcOptions): (() => Promise<openid.Configuration>) => {
  let known: Promise<openid.Configuration> | undefined;
  return () => {
    const asked = (known ??= openid.discovery(new URL(issuer), clientId, clientSecret, clientAuth(clientSecret), {
      timeout: PROVIDER_S_MAX,
    }));
    asked.catch(() => {
      if (known === asked) known = undefined;
    });
    return asked;
  };
};

const clientAuth = (clientSecret: string | undefined): openid.ClientAuth =>
  clientSecret === undefined ? openid.None() : openid.ClientSecretPost(clientSecret);
