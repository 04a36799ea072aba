import { setTimeout as delay } from 'node:timers/promises';
import { formatShortTime } from '@standin/contract';
import { requestSchema, summarySchema } from '@standin/dashboard/api-schemas';
import type { LogEntry } from '@standin/exchange';
import { rememberRequests } from '@standin/logstore';
import { z } from 'zod';
import { ServerError, type ApiClient } from '../server/api-client.ts';
import { checkEndpoint } from '../server/endpoints.ts';
import { outageNotice } from '../server/outage-notice.ts';
import { requestsPath, withProjectNames } from '../server/projects.ts';
import { searchText, type LogChoice } from './log-choice.ts';
import type { Listed, LogReader } from './log-reader.ts';

const listSchema = z.object({ items: z.array(summarySchema) });
const problemSchema = z.object({ detail: z.string() });
const NEXT_CURSOR_HEADER = 'standin-next-cursor';
const PAGE_SIZE = 1_000;
const RETRY_MS = 1_000;

/** Reads requests from the JSON API: those of one project in a cluster, or those of any number of projects of `standin dev`. */
export const openApiReader = async (api: ApiClient, choice: LogChoice): Promise<LogReader> => {
  const path = await requestsPath(api, choice);
  const filter = {
    q: searchText(choice),
    from: choice.sinceUs === undefined ? undefined : formatShortTime(choice.sinceUs),
  };

  /** Yields the entries since a time, oldest first, in as many requests as necessary. */
  const readAll = async function* (from: string | undefined): AsyncGenerator<LogEntry> {
    const query = { q: filter.q, from, order: 'oldest-first', limit: PAGE_SIZE };
    const headers = { accept: 'application/x-ndjson' };
    for (let cursor: string | null | undefined; cursor !== null;) {
      const asked = api.lines({ path, query: { ...query, cursor }, headers });
      const page = await withProjectNames(api, choice, asked);
      for await (const line of page.lines) yield checked(requestSchema, line);
      cursor = page.headers.get(NEXT_CURSOR_HEADER);
    }
  };

  /** Yields the selected entries, oldest first. */
  const readEntries = async function* (wanted: readonly Listed[]): AsyncGenerator<LogEntry> {
    const missing = new Set(wanted.map(({ id }) => id));
    const oldest = wanted.at(-1);
    if (oldest === undefined) return;
    for await (const entry of readAll(oldest.receivedAt)) {
      if (missing.delete(entry.id)) yield entry;
      if (missing.size === 0) return;
    }
  };

  /**
   * Yields each entry once across interruptions, although the server repeats the last minute after a reconnect. Yields an entry that
   * was in progress again when it has ended.
   */
  const follow = async function* <T extends Pick<LogEntry, 'id' | 'outcome'>>(
    item: z.ZodType<T>,
    query: { readonly view: 'entry' | 'summary'; readonly from: string },
    signal: AbortSignal,
  ): AsyncGenerator<T> {
    const isNew = rememberRequests();
    const notice = outageNotice();
    let position: string | undefined;
    while (!signal.aborted) {
      try {
        const headers = { ...(position !== undefined && { 'last-event-id': position }) };
        const asked = api.lines({ path: `${path}:stream`, query: { q: filter.q, ...query }, headers, signal });
        const { lines } = await withProjectNames(api, choice, asked);
        for await (const { type, data, id } of serverEvents(lines)) {
          if (id !== undefined) position = id;
          if (type === 'problem') notice(new Error(problemSchema.parse(JSON.parse(data)).detail));
          if (type !== 'request') continue;
          const found = checked(item, data);
          if (isNew(found)) yield found;
        }
      } catch (error) {
        if (isAborted(signal)) return;
        // Until the server has sent a position, any error ends the command. Later errors are retried if they are temporary.
        if (position === undefined || !(error instanceof ServerError && error.isPassing)) throw error;
        await api.local?.checkRunning();
        notice(error);
      }
      await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  };

  return {
    newest: async (limit) => {
      const asked = api.ask({ path, query: { ...filter, limit, view: 'summary' } }, listSchema);
      const { items: listed } = await withProjectNames(api, choice, asked);
      return { listed, entries: (count) => readEntries(listed.slice(0, count)) };
    },
    all: () => readAll(filter.from),
    followLines: (sinceUs, signal) =>
      follow(summarySchema, { view: 'summary', from: formatShortTime(sinceUs) }, signal),
    followEntries: (sinceUs, signal) =>
      follow(requestSchema, { view: 'entry', from: formatShortTime(sinceUs) }, signal),
    // Every response shows whether the project is missing.
    checkNames: () => checkEndpoint(api, choice, path),
    close: () => Promise.resolve(),
  };
};

/** Parses JSON, checks it against the schema, and returns it unchanged, with its field order and fields from a newer server. */
const checked = <T>(schema: z.ZodType<T>, text: string): T => {
  const value: unknown = JSON.parse(text);
  schema.parse(value);
  return value as T;
};

const isAborted = (signal: AbortSignal): boolean => signal.aborted;

export interface ServerEvent {
  /** Empty if the event only updates the position. */
  readonly type: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Parses server-sent events (WHATWG HTML, section 9.2) from lines. */
export async function* serverEvents(lines: AsyncIterable<string>): AsyncGenerator<ServerEvent> {
  let type = '';
  let data: string[] = [];
  let id: string | undefined;
  for await (const line of lines) {
    if (line === '') {
      if (data.length > 0 || id !== undefined) yield { type, data: data.join('\n'), id };
      type = '';
      data = [];
      id = undefined;
      continue;
    }
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'event') type = value;
    else if (field === 'data') data.push(value);
    else if (field === 'id') id = value;
  }
}
