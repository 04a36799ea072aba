import type { LogEntry, LogSummary } from '@standin/exchange';
import type { ProjectLog } from '../backend.ts';
import type { RequestSummary } from './schemas.ts';
import { without } from './without.ts';

export type View = 'entry' | 'summary';

export const toRequestSummary = (summary: LogSummary): RequestSummary => without(summary, 'insertedAtMs');

/** Yields the items of a response one by one. Reads entries on demand, so that only a few are in memory. */
export async function* requestViews(
  log: ProjectLog,
  summaries: readonly LogSummary[],
  view: View,
): AsyncGenerator<RequestSummary | LogEntry> {
  if (view === 'entry') yield* log.entries(summaries);
  else for (const summary of summaries) yield toRequestSummary(summary);
}
