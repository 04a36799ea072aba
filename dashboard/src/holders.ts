import { clientNetwork } from './client-address.ts';

/**
 * The holders of shares (see `SharedPool`) in the dashboard's memory, worker threads and streams. Clients must not be able to create
 * holders, so a token, a session or a connection is not a holder.
 */

/** Returns the holder of the shares of a namespace. Its owner can create any number of ServiceAccounts and links. */
export const namespaceHolder = (namespace: string): string => `namespace ${namespace}`;

/** Returns the holder of the shares of a user, or those of the namespace of a ServiceAccount. */
export const userHolder = (user: string): string => {
  const namespace = /^system:serviceaccount:([^:]+):/.exec(user)?.[1];
  return namespace === undefined ? `user ${user}` : namespaceHolder(namespace);
};

/** Returns the holder of the shares of clients whose user is unknown. */
export const networkHolder = (clientAddress: string): string => `network ${clientNetwork(clientAddress)}`;
