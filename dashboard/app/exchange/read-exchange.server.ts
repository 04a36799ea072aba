import type { LogRow } from '@standin/contract';
import type { Backend, ProjectLog } from '../../src/backend.ts';
import { logUnavailable } from '../../src/pages/failures.ts';
import { openLog } from '../../src/projects/projects.ts';
import { foundRequest } from '../../src/requests/found-request.ts';
import type { RequestName } from '../../src/resources/names.ts';
import { isUnavailable, orUnavailable } from '../requests/read-traffic.server.ts';

/**
 * Returns what `read` finds in the project's log for this id. Rejects with `NotFound` if `read` finds nothing, and with an error
 * page if the log is unavailable.
 */
export const readExchange = async <T extends object>(
  backend: Backend,
  names: RequestName,
  read: (log: ProjectLog, id: string) => Promise<T | undefined>,
): Promise<T> => {
  const log = await openLog(backend, names);
  const found = await orUnavailable(foundRequest(read(log, names.id)));
  if (isUnavailable(found)) throw logUnavailable(found.unavailable);
  return found;
};

/** Reads a captured exchange as stored, for code that works on its bytes. */
export const readRow = (backend: Backend, names: RequestName): Promise<LogRow> =>
  readExchange(backend, names, (log, id) => log.row(id));
