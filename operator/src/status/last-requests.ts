import { setTimeout as delay } from 'node:timers/promises';
import { FairMap } from '@standin/contract';
import type { LastRequest, LogOwner, LogStore } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Controller } from '../controller.ts';
import { LAST_REQUEST_RESOLUTION_MS } from './status-fields.ts';

export interface LastRequestsOptions {
  /** Undefined if there is no log. */
  readonly logStore: Pick<LogStore, 'lastRequests'> | undefined;
  /** Called when `at` of a project has changed. */
  readonly onChange: (projectUid: string) => void;
  readonly logger: Logger;
  readonly pollMs?: number;
  /** Default: `PROJECTS_MAX`. */
  readonly projectsMax?: number | undefined;
}

const POLL_MS = 60_000;
/**
 * Maximum number of projects whose times are remembered, about 25 MB. The log contains deleted ones, too. The status of a project keeps a
 * time that is forgotten.
 */
const PROJECTS_MAX = 50_000;
/** Rows that a query misses are found by the next query, which looks back to this long before the previous query. */
const OVERLAP_MS = 60_000;

/** Reads from the log when each project received its last request, for one leader's term. */
export class LastRequests implements Controller {
  readonly name = 'last-requests';
  readonly #options: LastRequestsOptions;
  /** The times by uid and names, because the log may have requests of the same uid under other names (ADR 024). */
  readonly #times: FairMap<Date>;
  readonly #stopping = new AbortController();

  constructor(options: LastRequestsOptions) {
    this.#options = options;
    this.#times = new FairMap(options.projectsMax ?? PROJECTS_MAX);
  }

  start(): void {
    const { logStore } = this.#options;
    if (logStore !== undefined) void this.#poll(logStore);
  }

  /** Does not wait for the read, because a hanging call must not delay the end of the term. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return Promise.resolve();
  }

  /**
   * Returns the time of the project's last request, in RFC 3339 format, in UTC, to the second. Returns undefined if the time is
   * unknown or the log has no requests for the project.
   */
  at(project: LogOwner): string | undefined {
    return this.#times.get(ownerKey(project))?.toISOString().replace(/\.\d+/, '');
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

  /** Reads the times from the log. Resolves with false if the log cannot be read. */
  async #read(logStore: Pick<LogStore, 'lastRequests'>, within: number | undefined): Promise<boolean> {
    try {
      const found = await logStore.lastRequests(within);
      for (const request of found) this.#note(request);
      return true;
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'cannot read the time of the last requests');
      return false;
    }
  }

  #note({ receivedAt, ...project }: LastRequest): void {
    if (this.#stopping.signal.aborted) return;
    const key = ownerKey(project);
    const known = this.#times.get(key);
    if (known !== undefined && receivedAt.getTime() - known.getTime() < LAST_REQUEST_RESOLUTION_MS) return;
    this.#times.set(key, receivedAt, project.namespace);
    this.#options.onChange(project.uid);
  }
}

const ownerKey = ({ uid, namespace, name }: LogOwner): string => `${uid} ${namespace}/${name}`;
