import type { Backend, ProjectLog } from '../../src/backend.ts';
import { logAway, notFound } from '../lib/failures.server.ts';
import type { ExchangeParams } from '../lib/paths.ts';
import { isAway, openLog, orAway } from '../requests/read-traffic.server.ts';

/** Returns what `read` finds in the project's log under this id. Throws a page that reports a missing entry or an unavailable log. */
export const readExchange = async <T>(
  backend: Backend,
  params: ExchangeParams,
  read: (log: ProjectLog, id: string) => Promise<T | undefined>,
): Promise<T> => {
  const log = await openLog(backend, params);
  const found = await orAway(read(log, params.id).then((value) => ({ value })));
  if (isAway(found)) throw logAway(found.away);
  if (found.value === undefined)
    throw notFound('such request', 'Its retention is over, or this project never had a request with this id.');
  return found.value;
};
