import { FairMap } from '@standin/contract';
import { shareAnswer, type Asked } from '../cluster/access-reviews.ts';
import type { ClusterUser } from '../cluster/cluster-user.ts';
import { userHolder } from '../holders.ts';
import { checkToken } from './check-token.ts';

const NAMES_MAX = 1_000;

/**
 * Returns a function that asks the API server for the name of a user, once for each token. The function resolves with undefined if the
 * API server does not report a name. It never rejects, and asks again after a failure.
 */
export const userNames = (
  namesMax = NAMES_MAX,
): ((user: Pick<ClusterUser, 'id' | 'client' | 'signal'>) => Promise<string | undefined>) => {
  /** Being asked, by the digest of the token. */
  const asked = new Map<string, Asked<string | undefined>>();
  /** By the digest of the token. Invalid tokens must not displace the names of users, nor must the tokens of another user. */
  const names = new FairMap<string>(namesMax);
  const ask = async (user: Pick<ClusterUser, 'id' | 'client' | 'signal'>): Promise<string | undefined> => {
    try {
      const check = await checkToken(user);
      if (check.kind === 'unknown') throw new Error(check.message);
      if (check.kind === 'invalid') return undefined;
      names.set(user.id, check.user, userHolder(check.user));
      return check.user;
    } finally {
      asked.delete(user.id);
    }
  };
  return async (user) => {
    const known = names.get(user.id);
    if (known !== undefined) return known;
    const shared = shareAnswer(user.signal, () => {
      const question = asked.get(user.id) ?? { answer: ask(user), signal: user.signal };
      asked.set(user.id, question);
      return question;
    });
    return shared.catch(() => undefined);
  };
};
