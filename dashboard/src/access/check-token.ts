import { SourceError } from '@standin/contract';
import { ApiError } from '@standin/kube';
import { authenticationApi } from '@standin/kube/review-api';
import type { ClusterUser } from '../cluster/cluster-user.ts';

/**
 * `invalid` means that the API server does not accept the token. `unknown` means that the API server could not be reached or
 * reported another error, which `message` contains.
 */
export type TokenCheck =
  | { readonly kind: 'valid'; readonly user: string }
  | { readonly kind: 'invalid' }
  | { readonly kind: 'unknown'; readonly message: string };

/** Asks the API server which user owns the token. */
export const checkToken = async ({ client, signal }: Pick<ClusterUser, 'client' | 'signal'>): Promise<TokenCheck> => {
  try {
    const { status } = await authenticationApi(client, { signal }).createSelfSubjectReview({ body: {} });
    const user = status?.userInfo?.username;
    return user === undefined || user === 'system:anonymous' ? { kind: 'invalid' } : { kind: 'valid', user };
  } catch (error) {
    if (error instanceof SourceError) return { kind: 'unknown', message: error.message };
    if (!(error instanceof ApiError)) throw error;
    // Anonymous requests get 403. Every authenticated user may create a SelfSubjectReview.
    return error.status === 401 || error.status === 403
      ? { kind: 'invalid' }
      : { kind: 'unknown', message: error.message };
  }
};

/**
 * Returns the expiry in the token, in milliseconds since 1970, or undefined if the token contains no expiry. The token is not
 * verified here, because the API server decides whether it is valid.
 */
export const tokenExpiry = (token: string): number | undefined => {
  const payload = token.split('.')[1];
  if (payload === undefined) return undefined;
  try {
    const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { exp?: unknown };
    return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1_000 : undefined;
  } catch {
    return undefined;
  }
};
