import { ApiError, resourcePath } from '@standin/kube';
import type { ClusterUser } from '../cluster/cluster-user.ts';

const PATH = resourcePath({ group: 'authentication.k8s.io', version: 'v1', plural: 'selfsubjectreviews' });

/** `invalid`: the API server does not accept the token. `unknown`: it could not be asked, `message` says why. */
export type TokenCheck =
  | { readonly kind: 'valid'; readonly user: string }
  | { readonly kind: 'invalid' }
  | { readonly kind: 'unknown'; readonly message: string };

/** Whom the API server takes the token's bearer for. */
export const checkToken = async ({ client }: ClusterUser): Promise<TokenCheck> => {
  try {
    const review = await client.create<{ status?: { userInfo?: { username?: string } } }>(PATH, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
    });
    const user = review.status?.userInfo?.username;
    return user === undefined || user === 'system:anonymous' ? { kind: 'invalid' } : { kind: 'valid', user };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Whoever may not even ask who they are is nobody: anonymous requests get 403.
    return error.status === 401 || error.status === 403
      ? { kind: 'invalid' }
      : { kind: 'unknown', message: error.message };
  }
};

/** When a token ends by its own account, milliseconds since 1970; `undefined`: it does not say. Unverified: the API server decides. */
export const expiryOf = (token: string): number | undefined => {
  const payload = token.split('.')[1];
  if (payload === undefined) return undefined;
  try {
    const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { exp?: unknown };
    return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1_000 : undefined;
  } catch {
    return undefined;
  }
};
