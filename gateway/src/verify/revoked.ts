import type { ConfigStore } from '../config/config-store.ts';
import type { Authenticated } from '../request/accepted.ts';
import { retryLater, type Refusal } from '../request/refusal.ts';
import type { Route } from '../request/route.ts';
import { INVALID_KEY, INVALID_SIGNATURE } from '../authenticate/authenticate.ts';

/**
 * Returns a refusal if the account's key or the endpoint's secret was replaced after the request was authenticated, or if no
 * configuration is active.
 */
export const revoked = (
  authenticated: Authenticated,
  { account, endpoint }: Route,
  config: Pick<ConfigStore, 'tableAt'>,
): Refusal | undefined => {
  const table = config.tableAt(performance.now());
  if (table === undefined) return retryLater('not_ready');
  if (authenticated.kind === 'signature') {
    return table.acceptsSecret(endpoint.config.uid, authenticated.secretId) ? undefined : INVALID_SIGNATURE;
  }
  const holders = table.accountsWithKey(authenticated.keySha256);
  return holders.some(({ uid }) => uid === account.uid) ? undefined : INVALID_KEY;
};
