import { PlainError } from '../plain-error.ts';
import type { PurgeRequest } from './purge-client.ts';

export interface SelectOptions {
  /** A valid search. */
  readonly filter?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly all: boolean;
  readonly reason: string;
}

/** Returns what to delete. Throws a `PlainError` if the options select nothing, or contradict each other. */
export const purgeRequest = ({ filter: search, since, until, all, reason }: SelectOptions, now: Date): PurgeRequest => {
  const isFiltered = search !== undefined || since !== undefined;
  if (all && isFiltered) throw new PlainError('--all selects all requests: omit it, or omit --filter and --since');
  if (!all && !isFiltered) throw new PlainError('select requests with --filter or --since, or all requests with --all');
  return {
    filter: {
      ...(search !== undefined && { search }),
      ...(since !== undefined && { from: since.toISOString() }),
      to: (until ?? now).toISOString(),
    },
    ...(all && { requests: 'All' as const }),
    reason,
  };
};
