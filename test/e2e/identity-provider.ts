import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Provider } from 'oidc-provider';
import type { Page } from 'playwright-core';
import { createTempFolder } from '../harness/temp-folder.ts';
import { startTlsUpstream } from './tls-upstream.ts';

/** A real OpenID Connect provider, with pages on which any user can sign in under any name. */
export interface IdentityProvider {
  /** `https://localhost:41234` */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** A file with the CA of the provider's certificate. */
  readonly caFile: string;
  /** Returns the number of tokens issued for refresh tokens. */
  refreshes(): number;
  /** Makes the provider respond with 503 to requests for tokens, or ends that. */
  setUnavailable(isUnavailable: boolean): void;
  close(): Promise<void>;
}

export interface IdentityProviderOptions {
  readonly redirectUri: string;
  readonly idTokenSeconds: number;
  /** The groups of all users. */
  readonly groups: readonly string[];
}

export const startIdentityProvider = async (options: IdentityProviderOptions): Promise<IdentityProvider> => {
  let isUnavailable = false;
  const server = await startTlsUpstream((request, response) => {
    if (isUnavailable && request.url === '/token') {
      response.writeHead(503, { 'content-type': 'application/json' }).end('{"error": "temporarily_unavailable"}');
      return;
    }
    provider
      .callback()(request, response)
      .catch(() => response.destroy());
  });
  const client = { clientId: 'standin', clientSecret: randomBytes(32).toString('hex') };
  const provider = new Provider(server.url, providerConfiguration(options, client));
  let refreshes = 0;
  provider.on('grant.success', ({ oidc }: { oidc: { params: { grant_type: string } } }) => {
    if (oidc.params.grant_type === 'refresh_token') refreshes += 1;
  });
  const caFile = path.join(await createTempFolder('provider'), 'ca.pem');
  await writeFile(caFile, server.ca);
  return {
    issuer: server.url,
    ...client,
    caFile,
    refreshes: () => refreshes,
    setUnavailable: (value) => (isUnavailable = value),
    close: () => server.close(),
  };
};

const providerConfiguration = (
  { redirectUri, idTokenSeconds, groups }: IdentityProviderOptions,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
): Readonly<Record<string, unknown>> => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' }] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    claims: { openid: ['sub', 'groups'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    ttl: {
      IdToken: idTokenSeconds,
      AccessToken: 600,
      RefreshToken: 3_600,
      Session: 3_600,
      Grant: 3_600,
      Interaction: 600,
    },
    findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub, groups }) }),
  };
};

/** Signs in on the provider's own pages with a name and any password, and gives consent. */
export const signInAtProvider = async (page: Page, name: string): Promise<void> => {
  await page.locator('input[name=login]').fill(name);
  await page.locator('input[name=password]').fill('anything');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
};
