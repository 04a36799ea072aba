import type { ClusterUser } from '../cluster/cluster-user.ts';
import { checkToken } from './check-token.ts';

const NAMES_MAX = 1_000;

interface Asked {
  readonly name: Promise<string | undefined>;
  /** Of the user who asked. */
  readonly signal: AbortSignal;
}

/**
 * Returns a function that asks the API server for the name of a user, once for each token. The function resolves with undefined if the
 * API server does not report a name. It never rejects, and asks again after a failure.
 */
export const userNames = (
  namesMax = NAMES_MAX,
): ((user: Pick<ClusterUser, 'id' | 'client' | 'signal'>) => Promise<string | undefined>) => {
  /** Being asked, by the digest of the token. */
  const asked = new Map<string, Asked>();
  /** By the digest of the token. Invalid tokens must not displace the names of users. */
  const names = new Map<string, string>();
  const ask = async (user: Pick<ClusterUser, 'id' | 'client' | 'signal'>): Promise<string | undefined> => {
    const check = await checkToken(user).catch(() => undefined);
    asked.delete(user.id);
    if (check?.kind !== 'valid') return undefined;
    names.set(user.id, check.user);
    const [oldest] = names.size > namesMax ? names.keys() : [];
    if (oldest !== undefined) names.delete(oldest);
    return check.user;
  };
  const nameUser = async (user: Pick<ClusterUser, 'id' | 'client' | 'signal'>): Promise<string | undefined> => {
    const known = names.get(user.id);
    if (known !== undefined) return known;
    const question = asked.get(user.id) ?? { name: ask(user), signal: user.signal };
    asked.set(user.id, question);
    const name = await question.name;
    // The request that asked has ended, and this one has not.
    return name === undefined && question.signal.aborted && !user.signal.aborted ? nameUser(user) : name;
  };
  return nameUser;
};
