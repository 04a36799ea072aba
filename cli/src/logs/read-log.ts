import process from 'node:process';
import type { Method } from '@standin/contract';
import {
  tailLog,
  tailSummaries,
  type LogEntry,
  type LogFilter,
  type LogStore,
  type LogSummary,
  type StatusRange,
} from '@standin/logstore';
import type { Filter } from '@standin/logstore/search';
import { awaitStop } from '../shutdown.ts';
import { formatSummaryLine } from './format-entry.ts';
import { openLogSource, type LogSource, type LogSourceOptions } from './log-source.ts';

export interface ReadLogOptions extends LogSourceOptions {
  readonly namespace?: string | undefined;
  readonly project?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly method?: Method | undefined;
  readonly status?: number | StatusRange | undefined;
  readonly filter?: Filter | undefined;
  readonly since?: Date | undefined;
  readonly limit: number;
  readonly follow: boolean;
  readonly output: 'text' | 'json';
  readonly colour: boolean;
}

/** When following, so many of the newest entries are known not to be new. */
const KNOWN_MAX = 1_000;
/** Rows are visible 1.5 s after the request (p95). */
const LATE_MS = 5_000;

/** The newest entries, oldest of them first; then, with `follow`, new ones until a signal comes. */
export const listLog = (options: ReadLogOptions): Promise<void> =>
  withLog(options, async (reading) => {
    const { store, filter } = reading;
    const startedAt = Date.now();
    const limit = options.follow ? Math.max(options.limit, KNOWN_MAX) : options.limit;
    const newest = await store.summaries({ ...filter, order: 'newest-first', limit });
    await list(reading, newest.slice(0, options.limit).toReversed());
    if (!options.follow) return;
    const known = new Set(newest.map(({ id }) => id));
    // Rows come late: look back, but not further than what is known to have been there.
    const lookBack = msOf(newest[0], startedAt) - LATE_MS;
    const oldestKnown = newest.length < limit ? 0 : msOf(newest.at(-1), startedAt) + 1;
    await follow(reading, new Date(Math.max(lookBack, oldestKnown, filter.since?.getTime() ?? 0)), known);
  });

/** New entries, or those from a time on, until a signal comes. */
export const tailNewest = (options: ReadLogOptions): Promise<void> =>
  withLog(options, (reading) => follow(reading, reading.filter.since ?? new Date()));

interface Reading {
  readonly store: LogStore;
  readonly source: LogSource;
  readonly filter: Omit<LogFilter, 'limit'>;
  readonly output: ReadLogOptions['output'];
  readonly colour: boolean;
  readonly signal: AbortSignal;
}

const withLog = async (options: ReadLogOptions, read: (reading: Reading) => Promise<void>): Promise<void> => {
  const { namespace, project, endpoint, method, status, filter: search, since, output, colour } = options;
  const filter = { namespace, project, endpoint, method, status, search, since };
  const stop = awaitStop();
  // `standin logs | head`: the reader has seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const source = await openLogSource(options);
  try {
    await read({ store: source.store, source, filter, output, colour, signal: stop.signal });
  } finally {
    await source.close();
    stop.done();
  }
};

const list = async ({ store, output, colour }: Reading, summaries: readonly LogSummary[]): Promise<void> => {
  if (output === 'text') for (const summary of summaries) printLine(summary, colour);
  else for await (const entry of store.entries(summaries)) printJson(entry);
};

const follow = async (
  { store, source, filter, output, colour, signal }: Reading,
  since: Date,
  known: ReadonlySet<string> = new Set(),
): Promise<void> => {
  await source.checkGrowing();
  const from = { ...filter, since };
  const options = { onFailure: outageNotice(source) };
  if (output === 'text') {
    for await (const summary of tailSummaries(store, from, signal, options))
      if (!known.has(summary.id)) printLine(summary, colour);
  } else {
    for await (const entry of tailLog(store, from, signal, options)) if (!known.has(entry.id)) printJson(entry);
  }
};

/** An outage is said once, and again when it lasts. */
const NOTICE_INTERVAL_MS = 30_000;

const outageNotice = (source: LogSource): ((error: unknown) => Promise<void>) => {
  let saidAt = -Infinity;
  return async (error) => {
    await source.checkGrowing();
    if (performance.now() - saidAt < NOTICE_INTERVAL_MS) return;
    saidAt = performance.now();
    console.error(`standin: ${(error as Error).message}; trying again`);
  };
};

const msOf = (summary: LogSummary | undefined, otherwise: number): number =>
  summary === undefined ? otherwise : new Date(summary.receivedAt).getTime();

const printLine = (summary: LogSummary, colour: boolean): void => {
  process.stdout.write(`${formatSummaryLine(summary, { colour })}\n`);
};

const printJson = (entry: LogEntry): void => void process.stdout.write(`${JSON.stringify(entry)}\n`);
