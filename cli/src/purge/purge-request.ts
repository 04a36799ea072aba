import { formatShortTime } from '@standin/contract';
import { PlainError } from '../plain-error.ts';
import type { PurgeRequest } from './purge-client.ts';

export interface SelectOptions {
  /** A valid search. */
  readonly filter?: string | undefined;
  /** In microseconds since the epoch, as `untilUs`. */
  readonly sinceUs?: number | undefined;
  readonly untilUs?: number | undefined;
  readonly all: boolean;
  readonly reason: string;
}

/** Returns what to delete. Throws a `PlainError` if the options select nothing, or contradict each other. */
export const purgeRequest = (
  { filter: search, sinceUs, untilUs, all, reason }: SelectOptions,
  now: Date,
): PurgeRequest => {
  const isFiltered = search !== undefined || sinceUs !== undefined;
  if (all && isFiltered) throw new PlainError('--all selects all requests: omit it, or omit --filter and --since');
  if (!all && !isFiltered) throw new PlainError('select requests with --filter or --since, or all requests with --all');
  return {
    filter: {
      ...(search !== undefined && { search }),
      ...(sinceUs !== undefined && { from: formatShortTime(sinceUs) }),
      to: formatShortTime(untilUs ?? now.getTime() * 1_000),
    },
    ...(all && { requests: 'All' as const }),
    reason,
  };
};
