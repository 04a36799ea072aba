// client-node's informer ends after one failed list, and misses changes in lines that it cannot parse.

import { backoffMs } from '@standin/contract';
import type { Registry } from 'prom-client';
import { ApiError } from './api-error.ts';
import { systemClock, type Clock } from './clock.ts';
import type { KubeClient, Query } from './kube-client.ts';
import type { KubeObject } from './kube-object.ts';
import { listPages, type Listed } from './list-all.ts';
import type { KubeLogger } from './logger.ts';
import { reflectorLabels, reflectorMetrics } from './metrics.ts';
import { ReflectorStore, type ReflectorHandler } from './reflector-store.ts';
import { Turns } from './turns.ts';
import { watchEvents } from './watch-events.ts';

/**
 * The server ends a watch after this time. The time is random, so that many clients do not reconnect at the same time (client-go
 * uses 5 to 10 min).
 */
const WATCH_SECONDS = { min: 240, max: 300 };
/** If nothing arrives for this long, the connection is dead, because the server sends a bookmark about once a minute. */
const IDLE_MS_DEFAULT = 90_000;
/**
 * The backoff while the server is unavailable or connections break. The cap is low, so that the server's return is noticed within
 * two seconds.
 */
const AWAY_BACKOFF = { baseMs: 100, capMs: 1_500 };
/** The backoff after a rejection (401, 403, 404, …), which lasts until a change to the credentials, RBAC or CRDs. */
const REFUSED_BACKOFF = { baseMs: 100, capMs: 5_000 };
/** A watch that is shorter than this and delivers nothing counts as a failure. Otherwise, restarting it would be a busy loop. */
const SHORT_WATCH_MS = 1_000;

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  /** The path of the collection, which is the result of `resourcePath` without a name. */
  readonly path: string;
  /** The plural name of the resource, for logs and metrics. */
  readonly resource: string;
  readonly namespace?: string | undefined;
  /** For example labelSelector or fieldSelector. */
  readonly query?: Query | undefined;
  readonly handler: ReflectorHandler<T>;
  /** Called before an object is stored. It should drop fields that are not needed, because they stay in memory. */
  readonly transform?: ((object: T) => T) | undefined;
  /** Returns what the store keeps of an object. If unset, the whole object. */
  readonly kept?: ((object: T) => T) | undefined;
  /** Called each time the server rejects a request (401, 403, 404, …) and will do so until credentials, RBAC or CRDs change. */
  readonly onRefused?: ((error: unknown) => void) | undefined;
  /** Called each time a watch has opened. The store then contains the state from which the watch continues. */
  readonly onWatching?: (() => void) | undefined;
  readonly logger: KubeLogger;
  readonly registry?: Registry | undefined;
  readonly clock?: Clock | undefined;
  readonly idleMs?: number | undefined;
  readonly pageSize?: number | undefined;
  /** See `ListOptions`. */
  readonly firstPageSize?: number | undefined;
  /** See `ListOptions`. */
  readonly pageBytesMax?: number | undefined;
}

/** How a list or a watch ended, and whether to continue at `resume` or with a new list. */
interface Ending {
  readonly reason: 'ended' | 'expired' | 'refused' | 'away' | 'broken';
  readonly resume: string | undefined;
  readonly error?: unknown;
  /** Whether nothing is wrong, so that the reflector continues immediately. */
  readonly healthy: boolean;
  /** Whether the watch was open for a while, so that earlier failures no longer count. */
  readonly lasted?: boolean;
}

/** Needed because TypeScript assumes that the loop condition stays true. */
const isAborted = (signal: AbortSignal): boolean => signal.aborted;

/**
 * Keeps a local copy of one kind up to date, in one namespace or in all of them, while it is running. Recovers from every failure.
 * Resumes the watch if no change is lost by resuming, and lists again otherwise. In both cases, the differences, including
 * deletions, are reported. Only one list or watch runs at a time. The reflector does not promise to report every intermediate state
 * of an object, or to report a change only once.
 */
export class Reflector<T extends KubeObject = KubeObject> {
  /** Resolves when the first full list is in the store. Rejects if the reflector is stopped before that. */
  readonly synced: Promise<void>;
  readonly #options: ReflectorOptions<T>;
  readonly #clock: Clock;
  readonly #store: ReflectorStore<T>;
  readonly #metrics: ReturnType<typeof reflectorMetrics> | undefined;
  readonly #watched: { readonly resource: string; readonly namespace: string };
  readonly #settleSynced: { readonly resolve: () => void; readonly reject: (reason: unknown) => void };
  #contactAt: number | undefined;
  #running = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#metrics = options.registry === undefined ? undefined : reflectorMetrics(options.registry);
    this.#watched = { resource: options.resource, namespace: options.namespace ?? '' };
    const handler: ReflectorHandler<T> = {
      put: (object) => this.#guard(() => options.handler.put(object)),
      remove: (object) => this.#guard(() => options.handler.remove(object)),
    };
    this.#store = new ReflectorStore<T>(handler, options.kept ?? ((object) => object));
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    this.synced = promise.then(() => undefined);
    this.#settleSynced = { resolve: () => resolve(undefined), reject };
    // Prevents an unhandled rejection if no caller waits for this promise.
    this.synced.catch(() => undefined);
  }

  /** Returns the last known state of the object with this `namespace/name`. */
  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): IterableIterator<T> {
    return this.#store.values();
  }

  /** Returns the seconds since the API server last sent anything, or undefined before its first response. */
  secondsSinceContact(): number | undefined {
    return this.#contactAt === undefined ? undefined : (this.#clock.now() - this.#contactAt) / 1_000;
  }

  /** Lists and watches until `signal` aborts, then resolves. Never rejects because of the server. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new Error('the reflector is already running');
    this.#running = true;
    const probe = {
      ...this.#watched,
      secondsSinceContact: () => this.secondsSinceContact(),
      size: () => this.#store.size,
    };
    this.#metrics?.reflectors.add(probe);
    try {
      await this.#loop(signal);
    } finally {
      this.#metrics?.reflectors.delete(probe);
      this.#settleSynced.reject(signal.reason);
      this.#running = false;
    }
  }

  async #loop(signal: AbortSignal): Promise<void> {
    let position: string | undefined;
    let failures = 0;
    let lastReason: Ending['reason'] = 'ended';
    while (!signal.aborted) {
      const ending = await this.#listAndWatch(position, signal);
      if (isAborted(signal)) return;
      position = ending.resume;
      this.#metrics?.restarts.inc({ ...reflectorLabels(this.#watched), reason: ending.reason });
      if (ending.healthy) {
        failures = 0;
        lastReason = ending.reason;
        continue;
      }
      // A server that becomes available again often rejects requests for a moment. Such a rejection is a different problem, so the
      // backoff begins again.
      if (ending.reason !== lastReason || ending.lasted === true) failures = 0;
      lastReason = ending.reason;
      if (ending.reason === 'refused') this.#guard(() => this.#options.onRefused?.(ending.error));
      const backoff = ending.reason === 'refused' ? REFUSED_BACKOFF : AWAY_BACKOFF;
      const retryAfterMs = ending.error instanceof ApiError ? (ending.error.retryAfterMs ?? 0) : 0;
      const delayMs = Math.min(retryAfterMs, 30_000) + backoffMs(failures, backoff, () => this.#clock.random());
      this.#logRestart(ending, failures);
      failures += 1;
      await this.#clock.sleep(delayMs, signal);
    }
  }

  async #listAndWatch(position: string | undefined, signal: AbortSignal): Promise<Ending> {
    let from = position;
    try {
      from ??= await this.#list(signal);
    } catch (error) {
      return this.#classify(error, undefined);
    }
    return this.#watch(from, signal);
  }

  async #list(signal: AbortSignal): Promise<string> {
    this.#metrics?.lists.inc(reflectorLabels(this.#watched));
    const version = await this.#store.replace(this.#pages(signal), signal);
    this.#settleSynced.resolve();
    return version;
  }

  async *#pages(signal: AbortSignal): AsyncGenerator<Listed<T>> {
    const { client, path, query, pageSize, firstPageSize, pageBytesMax, transform } = this.#options;
    const options = { query, signal, pageSize, firstPageSize, pageBytesMax, once: true };
    for await (const page of listPages<T>(client, path, options)) {
      this.#contactAt = this.#clock.now();
      yield transform === undefined ? page : { ...page, items: page.items.map(transform) };
    }
  }

  async #watch(from: string, signal: AbortSignal): Promise<Ending> {
    const openedAt = this.#clock.now();
    const { client, path, query, idleMs = IDLE_MS_DEFAULT } = this.#options;
    const timeoutSeconds =
      WATCH_SECONDS.min + Math.round(this.#clock.random() * (WATCH_SECONDS.max - WATCH_SECONDS.min));
    // Ends the connection if this method returns in the middle of a stream.
    const leave = new AbortController();
    const position = { at: from, events: 0 };
    try {
      const bytes = await client.watch(
        path,
        { ...query, resourceVersion: from, allowWatchBookmarks: true, timeoutSeconds },
        { signal: AbortSignal.any([signal, leave.signal]), idleMs },
      );
      this.#guard(() => this.#options.onWatching?.());
      const expired = await this.#follow(bytes, position);
      if (expired !== undefined) return expired;
    } catch (error) {
      const wasOpen = this.#contactAt !== undefined && this.#contactAt > openedAt;
      const ending = this.#classify(error, wasOpen ? position.at : undefined);
      return { ...ending, lasted: wasOpen && this.#clock.now() - openedAt >= SHORT_WATCH_MS };
    } finally {
      leave.abort();
    }
    const healthy = position.events > 0 || this.#clock.now() - openedAt >= SHORT_WATCH_MS;
    return { reason: 'ended', resume: position.at, healthy };
  }

  /** Reads an open watch to its end. Returns early if the server sends ERROR. Moves `position` forward with every event. */
  async #follow(bytes: AsyncIterable<Buffer>, position: { at: string; events: number }): Promise<Ending | undefined> {
    this.#contactAt = this.#clock.now();
    const { transform } = this.#options;
    const turns = new Turns();
    const heard = () => {
      this.#contactAt = this.#clock.now();
    };
    for await (const event of watchEvents<T>(bytes, heard)) {
      if (event.type === 'ERROR') {
        const { code = 0, reason = 'Unknown', message = 'the watch failed' } = event.object;
        const error = new ApiError(message, { status: code, reason, request: `WATCH ${this.#options.path}` });
        return { reason: 'expired', resume: undefined, error, healthy: false };
      }
      position.at = event.object.metadata.resourceVersion ?? position.at;
      position.events += 1;
      if (event.type === 'BOOKMARK') continue;
      const object = transform === undefined ? event.object : transform(event.object);
      if (event.type === 'DELETED') this.#store.remove(object);
      else this.#store.put(object);
      await turns.pause();
    }
    return undefined;
  }

  /**
   * Classifies the failure of a list or a watch. `resume` is the position of a watch that was open. A watch that could not be
   * opened at all needs a new list, because a server that was unavailable may have been restored from a backup, and a watch from a
   * version that the restored server does not have would wait silently.
   */
  #classify(error: unknown, resume: string | undefined): Ending {
    if (!(error instanceof ApiError)) {
      // A broken connection causes undici's error. After a malformed line, the position is unknown.
      const malformed = error instanceof Error && error.name === 'MalformedWatchError';
      return { reason: 'broken', resume: malformed ? undefined : resume, error, healthy: false };
    }
    if (error.status === 410) return { reason: 'expired', resume: undefined, error, healthy: false };
    if (error.status === 0 || error.status === 429 || error.status >= 500) {
      return { reason: 'away', resume, error, healthy: false };
    }
    if (error.status === 401) this.#options.client.config.forgetToken();
    return { reason: 'refused', resume: undefined, error, healthy: false };
  }

  #logRestart(ending: Ending, failures: number): void {
    const fields = { ...this.#watched, reason: ending.reason, failures, err: ending.error };
    // A first failure is normal. A persistent failure is logged again after every 40 attempts. Their pauses add up to between half
    // a minute and three minutes.
    if (failures === 3 || (failures > 0 && failures % 40 === 0))
      this.#options.logger.warn(fields, 'watch keeps failing');
    else this.#options.logger.debug(fields, 'watch restarting');
  }

  #guard(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#metrics?.handlerErrors.inc(reflectorLabels(this.#watched));
      this.#options.logger.error({ ...this.#watched, err: error }, 'reflector callback threw');
    }
  }
}
