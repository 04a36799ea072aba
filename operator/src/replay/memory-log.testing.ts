import { parseInstant } from '@standin/contract';
import { toLogEntry, type LogEntry, type LogSummary } from '@standin/exchange';
import { newLogRow } from '@standin/exchange/testing';
import { LogStoreError, type LogFilter, type LogStore, type ReplayResult } from '@standin/logstore';

export const UNAVAILABLE = new LogStoreError('no connection', {
  kind: 'retryable',
  code: 'ECONNREFUSED',
});

/**
 * Returns the nth captured request of a project. Each request is one second later than the previous one, and its body is its
 * number.
 */
export const capturedEntry = (projectUid: string, n: number): LogEntry =>
  toLogEntry(
    newLogRow({
      id: `0190c2f0-0000-7000-8000-${String(n).padStart(12, '0')}`,
      projectUid,
      receivedAtUs: (Date.UTC(2025, 11, 1) + n * 1_000) * 1_000,
      expiresAtS: Date.UTC(2099, 0, 1) / 1_000,
      endpoint: 'orders',
      target: '/uri/orders',
      path: '/orders',
      query: '',
      requestHeaders: [['host', 'gateway']],
      requestBody: Buffer.from(String(n)),
    }),
  );

type Part = Pick<LogStore, 'get' | 'summaries' | 'entries' | 'count'> & {
  readonly replays: Pick<LogStore['replays'], 'insert' | 'exchange' | 'counts' | 'ids'>;
};

/** An in-memory version of the log store functions that replays use. Every search matches all entries in its time range. */
export class MemoryLog {
  readonly results: ReplayResult[] = [];
  /** Called before each call. May throw. */
  disturb: (call: string) => void = () => undefined;
  readonly #entries: readonly LogEntry[];

  constructor(entries: readonly LogEntry[]) {
    this.#entries = entries;
  }

  get store(): LogStore {
    const part: Part = {
      get: (id) => this.#call('get', () => this.#entries.find((entry) => entry.id === id)),
      count: (filter) => this.#call('count', () => this.#within(filter).length),
      summaries: ({ after, limit, ...filter }) =>
        this.#call('summaries', () => {
          const entries = this.#within(filter);
          const start = after === undefined ? 0 : entries.findIndex(({ id }) => id === after.id) + 1;
          return entries.slice(start, start + limit).map(logSummary);
        }),
      entries: (summaries) => this.#read(summaries),
      replays: {
        insert: (results) => this.#call('insert', () => void this.results.push(...results)),
        exchange: () => this.#call('exchange', () => undefined),
        counts: ({ replayUid }) =>
          this.#call('counts', () => {
            const counts = Map.groupBy(this.#last(replayUid).values(), ({ status }) => status);
            return [...counts].map(([status, found]) => ({ status, count: found.length }));
          }),
        ids: ({ replayUid, sinceUs }) =>
          this.#call('ids', () =>
            [...this.#last(replayUid).values()]
              .filter(({ requestReceivedAtUs }) => requestReceivedAtUs >= sinceUs)
              .map(({ requestId }) => requestId),
          ),
      },
    };
    return part as unknown as LogStore;
  }

  /** Returns the entries in a filter's time range. */
  #within({ sinceUs = -Infinity, untilUs = Infinity }: Pick<LogFilter, 'sinceUs' | 'untilUs'>): readonly LogEntry[] {
    return this.#entries.filter(({ receivedAt }) => {
      const receivedAtUs = parseInstant(receivedAt) ?? NaN;
      return receivedAtUs >= sinceUs && receivedAtUs < untilUs;
    });
  }

  #last(replayUid: string): Map<string, ReplayResult> {
    const results = this.results.filter((result) => result.replayUid === replayUid);
    return new Map(results.map((result) => [result.requestId, result]));
  }

  async *#read(summaries: readonly LogSummary[]): AsyncGenerator<LogEntry> {
    await this.#call('entries', () => undefined);
    for (const { id } of summaries) {
      const found = this.#entries.find((entry) => entry.id === id);
      if (found !== undefined) yield found;
    }
  }

  #call<T>(call: string, answer: () => T): Promise<T> {
    return new Promise((resolve) => {
      this.disturb(call);
      resolve(answer());
    });
  }
}

const logSummary = (entry: LogEntry): LogSummary => ({ ...entry, bodyBytes: 0, insertedAtMs: 0 });
