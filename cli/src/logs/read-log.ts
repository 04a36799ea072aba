import path from 'node:path';
import { parseInstant } from '@standin/contract';
import type { LogEntry } from '@standin/exchange';
import { curlCommand } from '@standin/exchange/formats';
import { rememberRequests } from '@standin/logstore';
import { findLocal, openRemote } from '../server/connect.ts';
import { findRunning } from '../server/run-file.ts';
import type { ServerOptions } from '../server/server-options.ts';
import { awaitStop } from '../shutdown.ts';
import { stderr, stdout } from '../terminal.ts';
import { formatSummaryLine, type LineEntry } from './format-entry.ts';
import { openApiReader } from './api-reader.ts';
import type { LogChoice, LogOutput } from './log-choice.ts';
import type { Listed, LogReader } from './log-reader.ts';
import { openStoreReader, type StoreReaderOptions } from './store-reader.ts';

/** The log to read, and the selected requests. */
export interface LogSource extends StoreReaderOptions, ServerOptions, LogChoice {}

export interface ReadLogOptions extends LogSource {
  readonly limit: number;
  readonly follow: boolean;
  readonly output: LogOutput;
  readonly colour: boolean;
}

/** Before following, at least this many of the newest entries are read, so that following does not show them as new. */
const KNOWN_MAX = 1_000;
/** How late a row may become visible. Most rows (p95) are visible 1.5 s after the request. */
const LATE_US = 5_000_000;

/** Lists the newest entries in chronological order. With `follow`, then lists new ones until a signal arrives. */
export const listLog = (options: ReadLogOptions): Promise<void> =>
  withReader(options, async (reading) => {
    const startedUs = Date.now() * 1_000;
    const limit = options.follow ? Math.max(options.limit, KNOWN_MAX) : options.limit;
    const newest = await reading.reader.newest(limit);
    const { listed } = newest;
    if (listed.length === 0) await reading.reader.checkNames();
    if (options.output === 'text') {
      for (const entry of listed.slice(0, options.limit).toReversed()) printLine(entry, options.colour);
    } else for await (const entry of newest.entries(options.limit)) printEntry(entry, options.output);
    if (!options.follow) {
      // On standard error, as kubectl does, because other programs read the list.
      if (listed.length === 0 && options.output === 'text') stderr.line('No requests found.');
      return;
    }
    const isNew = rememberPrinted(options);
    for (const entry of listed) isNew(entry);
    // Rows can arrive late, and requests in progress end later, so following starts before the newest entry, but after the oldest one
    // if there may be older entries.
    const running = listed.findLast(({ outcome }) => outcome === 'in_progress');
    const lookBack = receivedAtUs(running ?? listed[0], startedUs) - LATE_US;
    const oldestKnown = listed.length < limit ? 0 : receivedAtUs(listed.at(-1), startedUs) + 1;
    await follow(reading, Math.max(lookBack, oldestKnown, options.sinceUs ?? 0), isNew);
  });

/** Lists new entries until a signal arrives, starting with those since the time in `--since`, if any. */
export const tailNewest = (options: ReadLogOptions): Promise<void> =>
  withReader(options, async (reading) => {
    const { sinceUs = Date.now() * 1_000 } = options;
    await reading.reader.checkNames();
    await follow(reading, sinceUs, rememberPrinted(options));
  });

/**
 * Returns a function that returns whether to print a request. A request that was in progress is printed again at its end, but not as
 * a command.
 */
const rememberPrinted = ({ output }: Pick<ReadLogOptions, 'output'>) => {
  const isNew = rememberRequests();
  return ({ id, outcome }: Pick<Listed, 'id' | 'outcome'>): boolean =>
    isNew({ id, outcome: output === 'curl' ? 'forwarded' : outcome });
};

interface Reading extends Pick<ReadLogOptions, 'output' | 'colour'> {
  readonly reader: LogReader;
  readonly signal: AbortSignal;
}

/** Opens a reader of the selected log. It reads ClickHouse directly with `--clickhouse-url`, or if there is no JSON API. */
const openReader = async (options: LogSource): Promise<LogReader> => {
  const { namespace, project, endpoint, method, status, filter, sinceUs } = options;
  const choice: LogChoice = { namespace, project, endpoint, method, status, filter, sinceUs };
  if (options.clickhouseUrl !== undefined) return openStoreReader(options, choice);
  const api = (await openRemote(options)) ?? (await findLocal(options.data));
  if (api !== undefined) return openApiReader(api, choice);
  // A `standin dev` that is still starting, for example because its cluster is unreachable, serves no JSON API yet, but its engine
  // already uses the data folder.
  const starting = await findRunning(path.resolve(options.data));
  if (starting === undefined) return openStoreReader(options, choice);
  const { url: clickhouseUrl, username: clickhouseUser, password: clickhousePassword, database } = starting.clickhouse;
  return openStoreReader({ ...options, clickhouseUrl, clickhouseUser, clickhousePassword, database }, choice);
};

/** Calls `visit` for each selected entry, oldest first, until a signal arrives. Resolves with whether all were visited. */
export const visitLog = (options: LogSource, visit: (entry: LogEntry) => void): Promise<boolean> =>
  useReader(options, false, async (reader, signal) => {
    let count = 0;
    for await (const entry of reader.all()) {
      if (signal.aborted) return false;
      visit(entry);
      count += 1;
    }
    if (count === 0) await reader.checkNames();
    return true;
  });

const withReader = (options: ReadLogOptions, read: (reading: Reading) => Promise<void>): Promise<void> => {
  const { output, colour } = options;
  return useReader(options, undefined, (reader, signal) => read({ reader, output, colour, signal }));
};

/** Resolves with `stopped` if a signal arrives before the reader is open. */
const useReader = async <T>(
  options: LogSource,
  stopped: T,
  read: (reader: LogReader, signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const stop = awaitStop();
  try {
    const reader = await openReader(options).catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
      return undefined;
    });
    if (reader === undefined) return stopped;
    try {
      return await read(reader, stop.signal);
    } finally {
      await reader.close();
    }
  } finally {
    // Otherwise, the channel to the parent process could keep this process running.
    stop.done();
  }
};

const follow = async (
  { reader, output, colour, signal }: Reading,
  sinceUs: number,
  isNew: ReturnType<typeof rememberPrinted>,
): Promise<void> => {
  if (output === 'text') {
    for await (const line of reader.followLines(sinceUs, signal)) if (isNew(line)) printLine(line, colour);
  } else {
    for await (const entry of reader.followEntries(sinceUs, signal)) if (isNew(entry)) printEntry(entry, output);
  }
};

const receivedAtUs = (listed: Listed | undefined, otherwise: number): number =>
  listed === undefined ? otherwise : (parseInstant(listed.receivedAt) ?? otherwise);

const printLine = (entry: LineEntry, colour: boolean): void => stdout.line(formatSummaryLine(entry), colour);

/** Prints an entry as JSON or as a curl command. The command uses the captured host, because a list may contain many projects. */
const printEntry = (entry: LogEntry, output: Exclude<LogOutput, 'text'>): void => {
  if (output === 'curl') stdout.lines(curlCommand(entry).text);
  else stdout.json(entry);
};
