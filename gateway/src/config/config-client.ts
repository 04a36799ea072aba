import { lookup } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';
import {
  backoffMs,
  errorMessage,
  FairQueue,
  type PermitAnswer,
  type PermitRequest,
  type Refusals,
  type Undelivered,
  type UsageReport,
} from '@standin/contract';
import type { Logger } from 'pino';
import type { ConfigStore } from './config-store.ts';
import type { DiskCopy } from './disk-copy.ts';
import { OperatorConnection, type OperatorAddress } from './operator-connection.ts';
import { Revocations } from './revocations.ts';
import { NotLeaderError, StreamSession, type SessionParts } from './stream-session.ts';

export interface ConfigClientOptions {
  /** This gateway's name. */
  readonly name: string;
  /** An id that is unique to this process. */
  readonly instance: string;
  readonly urls: readonly string[];
  readonly tlsDir: string;
  /**
   * How long the gateway serves requests without contact with the operator. 0 means no limit. The operator receives this value.
   */
  readonly maxStalenessMs: number;
  readonly store: ConfigStore;
  readonly diskCopy: DiskCopy;
  /** Called when the permits of this account must be returned. */
  readonly onRecall: (accountUid: string) => void;
  /** Resolves when every request that has been admitted so far is recorded or refused. */
  readonly settled: () => Promise<void>;
  /** Called when a stream is open and its snapshot is active. */
  readonly onConnected: () => void;
  /** Returns what is not in the log yet. Undefined if it is unknown. */
  readonly undelivered: () => Undelivered | undefined;
  readonly refusals: (projectUid: string) => Refusals;
  readonly settle: SessionParts['settle'];
  readonly logger: Logger;
}

const BACKOFF = { baseMs: 100, capMs: 2_000 };
/** How long a starting gateway waits for the outcome of the first round over all operators, before it uses the copy on disk. */
const FIRST_ROUND_TIMEOUT_MS = 5_000;
/**
 * How long to wait before using the copy on disk if operators respond but none is leading. This time is long enough for an
 * election. Without a leader, no permits are available, so this gateway would refuse requests that other gateways can serve.
 */
const ELECTION_MS = 15_000;
const GOODBYE_TIMEOUT_MS = 1_000;
/** The timeout for permit requests and reports. Short, because callers wait for the permits. */
const PERMITS_TIMEOUT_MS = 3_000;
/** Permit requests that run at the same time. Fewer than the connections to an operator, which also carry acknowledgements. */
const PERMIT_REQUESTS_MAX = 12;
/** Permit requests that run or wait for their turn. Each Account has one at most. */
const PERMIT_CALLS_MAX = 100_000;
/**
 * How long callers wait for the next leader after the previous one is lost. A leader that stops hands over within a
 * second or two.
 */
const HANDOVER_MS = 3_000;
const FAILURES_KEPT_MAX = 1_000;

/** The result of one round over all operators: a stream that has ended, responses but no leader, or no response. */
type RoundOutcome = 'stream' | 'no leader' | 'no response';

/** How a session with one operator ended. */
interface SessionEnd {
  readonly hadStream: boolean;
  /** Whether the operator responded but is not leading. */
  readonly follows?: boolean;
  /** The leader's URL, as named by an operator that is not leading. */
  readonly leaderUrl?: string | undefined;
}

/**
 * Returns whether the operator closed or refused the connection. The error of a timeout has no code, a number as its code, or
 * ABORT_ERR if a signal ended the request.
 */
const isCut = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code !== 'ABORT_ERR';

const failureReason = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(failureReason).join('; ');
  return errorMessage(error);
};

/**
 * Keeps a `ConfigStore` up to date with the leading operator. Tries all addresses of all operators, follows the hints
 * of operators that are not leading, and reconnects after every failure. If no operator responds, the current
 * configuration stays active.
 */
export class ConfigClient {
  readonly #options: ConfigClientOptions;
  readonly #revocations: Revocations;
  /** Namespaces take turns, because one may have any number of Accounts that ask at the same time. */
  readonly #permits = new FairQueue({
    runningMax: PERMIT_REQUESTS_MAX,
    callsMax: PERMIT_CALLS_MAX,
    refusal: () => new Error('too many Accounts of the namespace request permits'),
  });
  readonly #stopped = new AbortController();
  #connection: OperatorConnection | undefined;
  #running: Promise<void> | undefined;
  #election: NodeJS.Timeout | undefined;
  #hint: string | undefined;
  #hasSnapshot = false;
  readonly #failures = new Set<string>();
  /** Whether a stream is open and its snapshot is active. */
  isConnected = false;
  /** Resolves when the next stream is active. */
  #nextStream = Promise.withResolvers<undefined>();
  #disconnectedMs = performance.now();

  constructor(options: ConfigClientOptions) {
    this.#options = options;
    this.#revocations = new Revocations(options);
  }

  /**
   * Resolves when there is a configuration, or when it is clear that none is available yet. In the latter case, `ConfigStore`
   * receives a configuration later.
   */
  async start(): Promise<void> {
    const first = Promise.withResolvers<RoundOutcome>();
    this.#running = this.#run(first.resolve);
    const timer = setTimeout(() => first.resolve('no response'), FIRST_ROUND_TIMEOUT_MS);
    const outcome = await first.promise;
    clearTimeout(timer);
    if (outcome === 'no response') await this.#restore();
    const isElecting = outcome === 'no leader' && !this.#stopped.signal.aborted;
    if (isElecting) this.#election = setTimeout(() => void this.#restore(), ELECTION_MS);
  }

  /**
   * Requests quota permits from the leading operator. During a handover, waits for the next leader. Rejects if no
   * operator is leading, or if the leader does not respond in time.
   */
  async askPermits(request: Omit<PermitRequest, 'gateway' | 'instance'>): Promise<PermitAnswer> {
    const namespace = this.#options.store.account(request.account)?.namespace ?? '';
    const ask = (connection: OperatorConnection): Promise<PermitAnswer> => {
      const signal = AbortSignal.timeout(PERMITS_TIMEOUT_MS);
      return this.#permits.run(namespace, () => connection.permits(request, signal), signal);
    };
    const connection = await this.#leader(this.#disconnectedMs);
    try {
      return await ask(connection);
    } catch (error) {
      if (!isCut(error)) throw error;
      // The request is safe to repeat, even if the leader granted a block before it stopped. No later request names that
      // block, so the operator returns it to the account.
      const next = await this.#leader(performance.now(), connection);
      return ask(next);
    }
  }

  /**
   * Resolves with the connection to the leader, but never with `cut`, a connection that has just been lost. Waits for a leader
   * until `HANDOVER_MS` after the previous leader was lost.
   */
  async #leader(lostMs: number, cut?: OperatorConnection): Promise<OperatorConnection> {
    const leftMs = lostMs + HANDOVER_MS - performance.now();
    const isAvailable = (): boolean => this.isConnected && this.#connection !== cut;
    if (!isAvailable() && leftMs > 0)
      await Promise.race([this.#nextStream.promise, delay(leftMs, undefined, { ref: false })]);
    if (this.#connection === undefined || !isAvailable()) throw new Error('no operator is connected');
    return this.#connection;
  }

  /**
   * Reports spent permits to the leading operator. Rejects if no operator is leading, or if the leader does not respond
   * in time.
   */
  async reportUsage(accounts: UsageReport['accounts']): Promise<void> {
    if (this.#connection === undefined || !this.isConnected) throw new Error('no operator is connected');
    await this.#connection.usage(accounts, AbortSignal.timeout(PERMITS_TIMEOUT_MS));
  }

  /**
   * Reports to the leading operator that a process has ended and that all its records are in the log. Rejects in the
   * same cases as `reportUsage`.
   */
  async reportDrained(instance: string): Promise<void> {
    if (this.#connection === undefined || !this.isConnected) throw new Error('no operator is connected');
    await this.#connection.drained(instance, AbortSignal.timeout(PERMITS_TIMEOUT_MS));
  }

  /**
   * Removes the copy on disk, then sends a goodbye message so that the operator does not wait for this gateway. If the
   * copy cannot be removed, sends no goodbye message, and the operator waits as it does for a killed gateway.
   */
  async stop(): Promise<void> {
    if (await this.#options.diskCopy.discard()) await this.#goodbye();
    this.#stopped.abort();
    clearTimeout(this.#election);
    await this.#running;
  }

  async #goodbye(): Promise<void> {
    const signal = AbortSignal.timeout(GOODBYE_TIMEOUT_MS);
    await this.#connection?.goodbye(this.#options.undelivered(), signal).catch((error: unknown) => {
      this.#options.logger.info({ reason: failureReason(error) }, 'could not send the goodbye message');
    });
  }

  /** Restores the copy on disk, unless a stream was faster. */
  async #restore(): Promise<void> {
    if (!this.#hasSnapshot && !this.#stopped.signal.aborted) await this.#options.diskCopy.restore();
  }

  /** Runs rounds until `stop`. Calls `onFirst` after each round and at each commit. Only the first call has an effect. */
  async #run(onFirst: (outcome: RoundOutcome) => void): Promise<void> {
    const { signal } = this.#stopped;
    for (let attempt = 0; !signal.aborted; attempt++) {
      const outcome = await this.#round(() => onFirst('stream'));
      if (outcome === 'stream') attempt = 0;
      onFirst(outcome);
      await delay(backoffMs(attempt, BACKOFF), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Tries every address once, until one provides a stream. Returns the outcome. */
  async #round(onCommit: () => void): Promise<RoundOutcome> {
    const { signal } = this.#stopped;
    const queue = await this.#addresses();
    let outcome: RoundOutcome = 'no response';
    for (let next = queue.shift(); next !== undefined && !signal.aborted; next = queue.shift()) {
      const end = await this.#session(next, onCommit);
      if (end.hadStream) return 'stream';
      if (end.follows === true) outcome = 'no leader';
      if (end.leaderUrl !== undefined && end.leaderUrl !== this.#hint) {
        this.#hint = end.leaderUrl;
        queue.unshift(...(await this.#resolve(end.leaderUrl)));
      }
    }
    // The named leader did not respond, so it is no longer tried first.
    this.#hint = undefined;
    return outcome;
  }

  async #session(target: OperatorAddress, onCommit: () => void): Promise<SessionEnd> {
    const { store, diskCopy, logger, tlsDir, name, instance, maxStalenessMs, onConnected } = this.#options;
    const { onRecall, undelivered, refusals, settle } = this.#options;
    const where = { url: target.url.origin, address: target.address };
    try {
      this.#connection = await OperatorConnection.open(target, tlsDir, {
        name,
        instance,
        maxStalenessMs,
      });
      const session = new StreamSession(this.#connection, {
        store,
        diskCopy,
        revocations: this.#revocations,
        logger,
        onRecall,
        undelivered,
        refusals,
        settle,
        onCommit: () => {
          if (!this.isConnected) {
            logger.info(where, 'configuration received from the operator');
            onConnected();
          }
          this.#hasSnapshot = true;
          this.isConnected = true;
          this.#nextStream.resolve(undefined);
          this.#nextStream = Promise.withResolvers();
          this.#failures.clear();
          onCommit();
        },
      });
      return await session.run(this.#stopped.signal);
    } catch (error) {
      if (error instanceof NotLeaderError) return { hadStream: false, follows: true, leaderUrl: error.leaderUrl };
      // `stop` ended the session.
      if (this.#stopped.signal.aborted) return { hadStream: this.isConnected };
      const reason = failureReason(error);
      if (this.isConnected) logger.warn({ ...where, reason }, 'config stream ended');
      else this.#reportFailure({ ...where, reason });
      return { hadStream: this.isConnected };
    } finally {
      if (this.isConnected) this.#disconnectedMs = performance.now();
      this.isConnected = false;
      this.#connection?.close();
      this.#connection = undefined;
    }
  }

  /**
   * Logs one warning per reason until the next stream, because every address of an unavailable operator fails about every two
   * seconds.
   */
  #reportFailure(failure: { readonly url: string; readonly address?: string; readonly reason: string }): void {
    const text = `${failure.url} ${failure.address ?? ''} ${failure.reason}`;
    this.#options.logger[this.#failures.has(text) ? 'debug' : 'warn'](failure, 'config stream unavailable');
    if (this.#failures.size < FAILURES_KEPT_MAX) this.#failures.add(text);
  }

  /**
   * Returns all addresses of all operators in random order, so that gateways are spread across the operators. The addresses of the
   * leader come first if an operator has named it.
   */
  async #addresses(): Promise<OperatorAddress[]> {
    const found = await Promise.all(this.#options.urls.map((url) => this.#resolve(url)));
    const shuffled = found
      .flat()
      .map((address) => ({ address, place: Math.random() }))
      .sort((a, b) => a.place - b.place)
      .map(({ address }) => address);
    return this.#hint === undefined ? shuffled : [...(await this.#resolve(this.#hint)), ...shuffled];
  }

  async #resolve(text: string): Promise<OperatorAddress[]> {
    const url = URL.parse(text);
    if (url?.protocol !== 'https:') return [];
    try {
      const addresses = await lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true });
      return addresses.map(({ address }) => ({ url, address }));
    } catch (error) {
      this.#reportFailure({ url: url.origin, reason: failureReason(error) });
      return [];
    }
  }
}
