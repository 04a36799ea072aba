import { setTimeout as delay } from 'node:timers/promises';
import type { LogStore } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Controller } from '../controller.ts';
import { LAST_REQUEST_RESOLUTION_MS } from './status-fields.ts';

export interface LastRequestsOptions {
  /** Undefined if there is no log. */
  readonly logStore: Pick<LogStore, 'lastRequests'> | undefined;
  /** `at` of a project has changed. */
  readonly onChange: (projectUid: string) => void;
  readonly logger: Logger;
  readonly pollMs?: number;
}

const POLL_MS = 60_000;
/** Rows that a query misses are found by the next one, because each looks back further than the last one ended. */
const OVERLAP_MS = 60_000;

/** Reads from the log when each project received its last request, for one leader's term. */
export class LastRequests implements Controller {
  readonly name = 'last-requests';
  readonly #options: LastRequestsOptions;
  readonly #times = new Map<string, Date>();
  readonly #stopping = new AbortController();

  constructor(options: LastRequestsOptions) {
    this.#options = options;
  }

  start(): void {
    const { logStore } = this.#options;
    if (logStore !== undefined) void this.#poll(logStore);
  }

  /** Does not wait: a call that hangs must not outlast the term. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return Promise.resolve();
  }

  /** Returns the time as RFC 3339 in UTC, to the second. Returns undefined if it is unknown or the log has no requests for the
   * project. */
  at(projectUid: string): string | undefined {
    return this.#times.get(projectUid)?.toISOString().replace(/\.\d+/, '');
  }

  async #poll(logStore: Pick<LogStore, 'lastRequests'>): Promise<void> {
    const { pollMs = POLL_MS } = this.#options;
    const { signal } = this.#stopping;
    let readAt: number | undefined;
    while (!signal.aborted) {
      const now = performance.now();
      const within = readAt === undefined ? undefined : Math.ceil(now - readAt) + OVERLAP_MS;
      if (await this.#read(logStore, within)) readAt = now;
      await delay(pollMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Resolves to false if the log cannot be read. */
  async #read(logStore: Pick<LogStore, 'lastRequests'>, within: number | undefined): Promise<boolean> {
    try {
      const found = await logStore.lastRequests(within);
      for (const [uid, time] of found) this.#note(uid, time);
      return true;
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'cannot read the time of the last requests');
      return false;
    }
  }

  #note(uid: string, time: Date): void {
    if (this.#stopping.signal.aborted) return;
    const known = this.#times.get(uid);
    if (known !== undefined && time.getTime() - known.getTime() < LAST_REQUEST_RESOLUTION_MS) return;
    this.#times.set(uid, time);
    this.#options.onChange(uid);
  }
}
