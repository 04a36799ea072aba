// client-node's APIs send a call once, write objects regardless of their version, and remove fields that their models do not have.

import { backoffMs, type ObjectVersion } from '@standin/contract';
import type { Registry } from 'prom-client';
import { request, type Dispatcher } from 'undici';
import { ApiError, refused, unreachable } from './api-error.ts';
import { systemClock, type Clock } from './clock.ts';
import type { Lane, SharedConnectionConfig } from './kube-config.ts';
import { objectVersion, type KubeObject } from './kube-object.ts';
import { clientMetrics } from './metrics.ts';
import { TokenBucket, type RateLimit } from './token-bucket.ts';

type QueryValue = string | number | boolean | undefined;
export type Query = Readonly<Record<string, QueryValue>>;
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const MERGE_PATCH = 'application/merge-patch+json';

/** At this rate, an operator with 10,000 objects writes its first statuses in 200 s and leaves API server capacity to others. */
const WRITE_RATE_DEFAULT: RateLimit = { qps: 50, burst: 100 };

const TIMEOUT_MS_DEFAULT = 30_000;
const ATTEMPTS_MAX_DEFAULT = 6;
const RETRY_BACKOFF = { baseMs: 100, capMs: 3_000 };
/**
 * The longest `Retry-After` that a call respects. If the server asks for a longer wait, the call fails, and the caller's own retry
 * waits instead.
 */
const RETRY_AFTER_MS_MAX = 30_000;

export interface CallOptions {
  readonly query?: Query;
  readonly signal?: AbortSignal | undefined;
  /** The time limit for one attempt, up to the end of its response. */
  readonly timeoutMs?: number;
  /** Each lane has its own write rate limit, except `own`, which has none. */
  readonly lane?: Lane;
  /** Whether to make only one attempt, because the caller retries by itself. */
  readonly once?: boolean;
  /** The maximum size of the response. Rejects with `ResponseTooLargeError` if it is larger. */
  readonly bytesMax?: number;
}

/** The response is larger than the caller can accept. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';
}

export interface RequestOptions extends CallOptions {
  readonly method: Method;
  /** The result of `resourcePath`. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
}

/** The fields of a Kubernetes `DeleteOptions` (meta/v1) that this package sends. */
export interface DeleteOptions {
  /**
   * The object to delete. Without these, a delayed or repeated call would delete a new object with the same name. With
   * `resourceVersion`, the call also fails with `Conflict` if the object has changed.
   */
  readonly preconditions: Pick<ObjectVersion, 'uid'> & Partial<ObjectVersion>;
  readonly propagationPolicy?: 'Background';
}

export interface KubeClientOptions {
  readonly config: SharedConnectionConfig;
  readonly registry?: Registry | undefined;
  /** Limits the writes in the lane `shared`, and separately those in the lane `urgent`. */
  readonly writeRate?: RateLimit | undefined;
  readonly clock?: Clock | undefined;
  /** The maximum number of attempts for a call. A waiting user needs an error earlier than a controller does. */
  readonly attemptsMax?: number | undefined;
  /** The time limit for one attempt, up to the end of its response. A call can override this limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * Runs each attempt when it is its turn. Rejects with its own error, which is not retried, if the attempt cannot run. Does not apply
   * to watches. Without it, attempts wait for a connection in order of arrival.
   */
  readonly inTurn?: (<T>(attempt: () => Promise<T>, signal: AbortSignal | undefined) => Promise<T>) | undefined;
  /** Parses a response. By default, parses it immediately, even if it is large. */
  readonly parse?: ((body: Buffer) => unknown) | undefined;
}

/**
 * JSON over HTTP to the API server, with features that client-node lacks: shared connections, bounded retries with backoff, a rate
 * limit for writes, and metrics. All methods except `watch` reject with `ApiError`, or with the signal's reason when it aborts.
 *
 * Retries repeatable calls (all but POST) after network errors, 429 and 5xx. Retries all calls after 429, and after 5xx with
 * `Retry-After`, because the server states that it did nothing. After a first 401, reads the token again and retries. A retried
 * conditional write can conflict with its own first attempt and fail with `Conflict`.
 */
export class KubeClient {
  readonly config: SharedConnectionConfig;
  /** For example `https://HOST:PORT`. */
  readonly server: string;
  readonly #clock: Clock;
  readonly #attemptsMax: number;
  readonly #timeoutMs: number;
  readonly #writes: Readonly<Record<Lane, TokenBucket | undefined>>;
  readonly #metrics: ReturnType<typeof clientMetrics> | undefined;
  readonly #inTurn: NonNullable<KubeClientOptions['inTurn']>;
  readonly #parse: NonNullable<KubeClientOptions['parse']>;

  constructor(options: KubeClientOptions) {
    this.config = options.config;
    this.server = options.config.getCurrentCluster()?.server.replace(/\/+$/, '') ?? '';
    this.#clock = options.clock ?? systemClock;
    this.#attemptsMax = options.attemptsMax ?? ATTEMPTS_MAX_DEFAULT;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS_DEFAULT;
    const { writeRate = WRITE_RATE_DEFAULT } = options;
    this.#writes = {
      shared: new TokenBucket(writeRate, this.#clock),
      urgent: new TokenBucket(writeRate, this.#clock),
      own: undefined,
    };
    this.#metrics = options.registry === undefined ? undefined : clientMetrics(options.registry);
    this.#inTurn = options.inTurn ?? ((attempt) => attempt());
    this.#parse = options.parse ?? parseJson;
  }

  get<T>(path: string, options: CallOptions = {}): Promise<T> {
    return this.request({ ...options, method: 'GET', path });
  }

  create<T>(path: string, body: unknown, options: CallOptions = {}): Promise<T> {
    return this.request({ ...options, method: 'POST', path, body });
  }

  /** Replaces this version of an object. Rejects with `Conflict` if the object has changed or another object has its name. */
  replace<T>(
    path: string,
    object: Pick<KubeObject, 'metadata'>,
    { uid, resourceVersion }: ObjectVersion,
    options: CallOptions = {},
  ): Promise<T> {
    const body = { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
    return this.request({ ...options, method: 'PUT', path, body });
  }

  /**
   * Sends a JSON merge patch (RFC 7396), in which `null` removes a field and lists are replaced. Custom resources do not support
   * strategic merge patches.
   */
  mergePatch<T>(path: string, body: unknown, options: CallOptions = {}): Promise<T> {
    return this.request({ ...options, method: 'PATCH', path, body, contentType: MERGE_PATCH });
  }

  remove(path: string, body: DeleteOptions, options: CallOptions = {}): Promise<void> {
    return this.request({ ...options, method: 'DELETE', path, body });
  }

  /** Deletes the object that now has this name. Reads it first, so that a repeated attempt does not delete a new object. */
  async removeByName(path: string): Promise<void> {
    const { uid } = objectVersion(await this.get<KubeObject>(path));
    await this.remove(path, { preconditions: { uid } });
  }

  async request<T>(options: RequestOptions): Promise<T> {
    const bucket = options.method === 'GET' ? undefined : this.#writes[options.lane ?? 'shared'];
    for (let attempt = 0; ; attempt++) {
      await bucket?.take(options.signal);
      options.signal?.throwIfAborted();
      try {
        return await this.#inTurn(() => this.#attempt<T>(options), options.signal);
      } catch (error) {
        options.signal?.throwIfAborted();
        const delayMs = this.#retryDelayMs(error, options, attempt);
        if (delayMs === undefined) throw error;
        await this.#clock.sleep(delayMs, options.signal);
      }
    }
  }

  /**
   * Opens a watch and returns the bytes of the response, with one JSON event per line. Has no rate limit and no retries. Rejects
   * with `ApiError` if the watch cannot be opened. Reading the bytes fails with undici's error if the connection breaks, or if
   * nothing arrives for `idleMs`, because a half-open connection looks like a quiet one.
   */
  async watch(
    path: string,
    query: Query,
    options: { signal: AbortSignal; idleMs: number },
  ): Promise<AsyncIterable<Buffer>> {
    const call: RequestOptions = { method: 'GET', path, query: { ...query, watch: true }, lane: 'own', ...options };
    const response = await this.#send(call, { headersTimeout: TIMEOUT_MS_DEFAULT, bodyTimeout: options.idleMs });
    if (response.statusCode !== 200) throw await this.#refusal(call, response);
    return response.body;
  }

  /** Closes idle connections immediately, and the others when their calls end. */
  close(): Promise<void> {
    return this.config.close();
  }

  #retryDelayMs(error: unknown, options: RequestOptions, attempt: number): number | undefined {
    if (options.once === true || attempt + 1 >= this.#attemptsMax || !(error instanceof ApiError)) return undefined;
    // The token may have been rotated in the meantime.
    if (error.status === 401 && attempt === 0 && this.config.forgetToken()) return 0;
    const overloaded = error.status === 429 || error.status >= 500;
    if (!overloaded && error.status !== 0) return undefined;
    const didNothing = error.status === 429 || (overloaded && error.retryAfterMs !== undefined);
    if (options.method === 'POST' && !didNothing) return undefined;
    if ((error.retryAfterMs ?? 0) > RETRY_AFTER_MS_MAX) return undefined;
    const backoff = backoffMs(attempt, RETRY_BACKOFF, () => this.#clock.random());
    // Callers that were rejected together get the same Retry-After. The added backoff spreads them out.
    return (error.retryAfterMs ?? 0) + backoff;
  }

  async #attempt<T>(options: RequestOptions): Promise<T> {
    const timeout = AbortSignal.timeout(options.timeoutMs ?? this.#timeoutMs);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
    const call = { ...options, signal };
    const response = await this.#send(call, {});
    if (response.statusCode >= 300) throw await this.#refusal(call, response);
    const incomplete = (error: unknown): Error => unreachable(this.server, `${options.method} ${options.path}`, error);
    const body = await readBody(response.body, options.bytesMax).catch((error: unknown) => {
      throw error instanceof ResponseTooLargeError ? error : incomplete(error);
    });
    try {
      return (await this.#parse(body)) as T;
    } catch (error) {
      throw error instanceof SyntaxError ? incomplete(error) : error;
    }
  }

  async #send(
    options: RequestOptions,
    timeouts: { headersTimeout?: number; bodyTimeout?: number },
  ): Promise<Dispatcher.ResponseData> {
    const url = new URL(this.server + options.path);
    for (const [name, value] of Object.entries(options.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    let code = '<error>';
    try {
      const { headers, dispatcher } = await this.config.authenticate(url.href, options.lane);
      const response = await request(url, {
        method: options.method,
        headers: {
          accept: 'application/json',
          'user-agent': 'standin',
          ...(options.body === undefined ? {} : { 'content-type': options.contentType ?? 'application/json' }),
          ...headers,
        },
        body: options.body === undefined ? null : JSON.stringify(options.body),
        ...(dispatcher === undefined ? {} : { dispatcher }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
        ...timeouts,
      });
      code = String(response.statusCode);
      return response;
    } catch (error) {
      throw unreachable(this.server, `${options.method} ${options.path}`, error);
    } finally {
      this.#metrics?.requests.inc({ code, method: options.method, host: url.host });
    }
  }

  async #refusal(options: RequestOptions, response: Dispatcher.ResponseData): Promise<ApiError> {
    const name = `${options.method} ${options.path}`;
    const body = await response.body.text().catch((error: unknown) => String(error));
    const retryAfter = response.headers['retry-after'];
    return refused(name, {
      status: response.statusCode,
      body,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
      now: this.#clock.date(),
    });
  }
}

const readBody = async (body: Dispatcher.ResponseData['body'], bytesMax = Infinity): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bytesMax) throw new ResponseTooLargeError(`the response is larger than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const parseJson = (body: Buffer): unknown => JSON.parse(body.toString());
