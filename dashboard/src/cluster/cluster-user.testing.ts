import type { ClusterUser } from './cluster-user.ts';

/** Returns a user whose calls `client` responds to, and who has enough of everything. */
export const testUser = (client: object, parts: Partial<ClusterUser> = {}): ClusterUser => ({
  id: 'ada',
  client: client as ClusterUser['client'],
  signal: new AbortController().signal,
  findHolder: () => Promise.resolve('user ada'),
  hold: () => Promise.resolve(() => undefined),
  holdList: () => Promise.resolve(),
  step: (work) => Promise.resolve(work()),
  ...parts,
});
