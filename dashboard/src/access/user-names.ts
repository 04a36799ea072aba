import type { ClusterUser } from '../cluster/cluster-user.ts';
import { checkToken } from './check-token.ts';

const NAMES_MAX = 1_000;

/**
 * Returns a function that asks the API server for the name of a token's user, once for each token. The function resolves with
 * undefined if the API server does not report a name. It never rejects, and asks again after a failure.
 */
export const userNames = (
  userOf: (token: string) => ClusterUser,
  namesMax = NAMES_MAX,
): ((token: string) => Promise<string | undefined>) => {
  /** By the digest of the token. */
  const names = new Map<string, Promise<string | undefined>>();
  return async (token) => {
    const user = userOf(token);
    const name =
      names.get(user.id) ??
      checkToken(user).then(
        (check) => (check.kind === 'valid' ? check.user : undefined),
        () => undefined,
      );
    names.set(user.id, name);
    const [oldest] = names.size > namesMax ? names.keys() : [];
    if (oldest !== undefined) names.delete(oldest);
    if ((await name) === undefined && names.get(user.id) === name) names.delete(user.id);
    return name;
  };
};
