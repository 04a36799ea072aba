import { randomUUID } from 'node:crypto';
import {
  FairMap,
  LIMITS,
  periodAt,
  type PermitAnswer,
  type PermitRequest,
  type ResourceObject,
  type UsageReport,
} from '@standin/contract';
import { WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { aboutObject } from '../about-object.ts';
import type { Controller } from '../controller.ts';
import type { CachedObjects } from '../object-cache.ts';
import type { LedgerStore, StoredLedger } from './ledger-store.ts';
import { committed, grant, inPeriod, newLedger, settle, type Ledger } from './ledger.ts';
import { settleLost, type CountPermits } from './settle-lost-permits.ts';
import { acceptedRequests, type QuotaUsage } from './usage.ts';

export interface QuotaControllerOptions {
  readonly store: LedgerStore;
  readonly cache: Pick<CachedObjects, 'get'>;
  readonly logger: Logger;
  readonly registry?: Registry;
  /** Returns the account's quota, or undefined if it has none or there is no such account. */
  readonly limit: (accountUid: string) => number | undefined;
  /** Returns the number of gateways with an open stream. */
  readonly gatewayCount: () => number;
  /** Returns whether this gateway process has an open stream, so that it receives a recall. */
  readonly isConnected: (gateway: string, instance: string) => boolean;
  /** Asks all gateways to give back their remaining permits of an account. */
  readonly recall: (accountUid: string) => void;
  /** Undefined if there is no log. */
  readonly countPermits: CountPermits | undefined;
  /** Called when an account's `usage` has changed. */
  readonly onUsage: (accountUid: string) => void;
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock?: () => number;
}

interface Pending {
  readonly request: PermitRequest;
  readonly answer: (answer: PermitAnswer) => void;
  readonly fail: (error: unknown) => void;
  /** The time until which the request waits for recalled permits, as returned by `performance.now()`. */
  waitsUntil: number | undefined;
}

/** The state of one account in this term. */
interface Account {
  /** The last ledger that was read or written. Undefined if the ledger must be read. */
  stored: StoredLedger | undefined;
  pending: Pending[];
  /** Requests that are waiting for recalled permits. */
  awaitingRecall: Pending[];
  isRunning: boolean;
  timer: NodeJS.Timeout | undefined;
  recalledAt: number;
  /** Permits that gateways have reported as spent, by block. */
  readonly spent: Map<string, number>;
  /**
   * Quota and period of the last refusal. Empty if the last request for permits was granted. Undefined if there was no request
   * in this term.
   */
  exhausted: string | undefined;
}

interface Verdict {
  readonly pending: Pending;
  readonly answer: PermitAnswer;
}

/**
 * The ledger may have changed since it was read, or the API server may have failed briefly. The second attempt uses the current
 * ledger.
 */
const WRITE_ATTEMPTS = 2;

/** The number of ledgers that are read and written at the same time, one on each connection for urgent calls. */
const WORKERS = 8;

/** Maximum number of deleted accounts whose namespaces are remembered. */
const FORMER_ACCOUNTS_MAX = 10_000;

/** Stands for the namespace of accounts that were deleted before this term, or long ago. These share what one namespace can have. */
const UNKNOWN_NAMESPACE = '(unknown)';

/**
 * Answers gateways that request permits, for one leader's term. Each grant is in the ledger before the response is sent. Each write
 * is a compare-and-swap, so writing is safe even if this operator no longer leads. Concurrent requests for one account share a
 * write. The accounts of one namespace occupy at most half of the workers, and namespaces take turns.
 */
export class QuotaController implements Controller {
  readonly name = 'quota';
  readonly #options: QuotaControllerOptions;
  readonly #accounts = new Map<string, Account>();
  /** The namespaces of deleted accounts, so that the permits that they give back are recorded in the turns of their namespaces. */
  readonly #former = new FairMap<string>(FORMER_ACCOUNTS_MAX);
  /** The accounts with requests to answer, by uid. */
  readonly #queue: WorkQueue;
  #isStopped = false;

  constructor(options: QuotaControllerOptions) {
    const logger = options.logger.child({ stage: 'quota' });
    this.#options = { ...options, logger };
    this.#queue = new WorkQueue({
      name: this.name,
      concurrency: WORKERS,
      registry: options.registry,
      logger,
      about: (uid) => this.#about(uid),
      reconcile: (uid) => this.#answer(uid),
    });
  }

  /** Handles a request for permits. Rejects if the ledger cannot be read or written, or if the term is over. */
  request(request: PermitRequest): Promise<PermitAnswer> {
    if (this.#isStopped) return Promise.reject(new Error('this operator lost leadership'));
    const { account: uid, held, closed } = request;
    // Returned permits are recorded even if the account no longer has a quota. Without a quota, other requests need no ledger.
    const holdsNothing = held.length + closed.length === 0;
    if (holdsNothing && this.#options.limit(uid) === undefined) return Promise.resolve({ kind: 'no_quota' });
    const account = this.#account(uid);
    const { promise, resolve, reject } = Promise.withResolvers<PermitAnswer>();
    account.pending.push({ request, answer: resolve, fail: reject, waitsUntil: undefined });
    this.#queue.add(uid);
    return promise;
  }

  /** Settles the blocks of a gateway process that has stopped and whose rows are all in the log. See `settleLost`. */
  async drained(instance: string): Promise<void> {
    const { countPermits, clock = Date.now, ...parts } = this.#options;
    if (countPermits === undefined) return;
    await settleLost(instance, { ...parts, countPermits, clock, request: (request) => this.request(request) });
  }

  /** Records a gateway process's report of spent permits. Schedules a read of the ledger if it is not known yet. */
  report({ gateway, instance, accounts }: UsageReport): void {
    for (const { account: uid, blocks } of accounts) {
      if (this.#isStopped || this.#options.limit(uid) === undefined) continue;
      const account = this.#account(uid);
      for (const { block, used } of blocks) account.spent.set(block, used);
      if (account.stored === undefined) this.#readLedger(uid, { gateway, instance });
      else this.#options.onUsage(uid);
    }
  }

  /** Returns the usage of an account's quota, or undefined if the account has no quota or its ledger is not known. */
  usage(uid: string): QuotaUsage | undefined {
    const { limit, clock = Date.now } = this.#options;
    const quota = limit(uid);
    const account = this.#accounts.get(uid);
    const ledger = account?.stored?.ledger;
    if (quota === undefined || account === undefined || ledger === undefined) return undefined;
    const now = periodAt(clock());
    const period = now > ledger.period ? now : ledger.period;
    const { spent, exhausted } = account;
    const isExhausted = exhausted === undefined ? undefined : exhausted === exhaustedMark(period, quota);
    const granted = committed(inPeriod(ledger, period));
    return { period, accepted: acceptedRequests(ledger, spent, period), granted, quota, isExhausted };
  }

  /**
   * Forgets a deleted account and answers its requests that wait for recalled permits. Permits that it gives back are recorded. Its
   * ledger stays, because an account that is created again continues with it.
   */
  removed({ kind, metadata: { uid, namespace } }: ResourceObject): void {
    if (kind !== 'Account') return;
    this.#former.set(uid, namespace, namespace);
    const account = this.#accounts.get(uid);
    if (account === undefined) return;
    clearTimeout(account.timer);
    for (const { answer } of account.awaitingRecall.splice(0)) answer({ kind: 'no_quota' });
    if (isIdle(account)) this.#accounts.delete(uid);
  }

  /** Rejects all waiting requests. Resolves when no write is in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#rejectWaiting();
    await this.#queue.stop();
    // Requests whose ledger was being written may have begun to wait for recalled permits.
    this.#rejectWaiting();
  }

  #about(uid: string): { readonly namespace?: string } {
    const { cache } = this.#options;
    if (cache.get(uid) !== undefined) return aboutObject(cache, uid);
    return { namespace: this.#former.get(uid) ?? UNKNOWN_NAMESPACE };
  }

  #rejectWaiting(): void {
    for (const account of this.#accounts.values()) {
      clearTimeout(account.timer);
      const waiting = [...account.pending.splice(0), ...account.awaitingRecall.splice(0)];
      for (const { fail } of waiting) fail(new Error('this operator lost leadership'));
    }
  }

  #account(uid: string): Account {
    const account = this.#accounts.get(uid) ?? newAccount();
    this.#accounts.set(uid, account);
    return account;
  }

  /** Schedules a read of the ledger, as a request that wants no permits. */
  #readLedger(uid: string, holder: { readonly gateway: string; readonly instance: string }): void {
    const request = { ...holder, account: uid, serial: 0, want: 0, held: [], closed: [] };
    const account = this.#account(uid);
    account.pending.push({ request, answer: () => undefined, fail: () => undefined, waitsUntil: undefined });
    this.#queue.add(uid);
  }

  /** Answers the account's requests. Those that arrive in the meantime have the account's next turn. */
  async #answer(uid: string): Promise<undefined> {
    const account = this.#accounts.get(uid);
    if (account === undefined) return;
    account.isRunning = true;
    // Requests that arrive in the same turn of the event loop share a write of the ledger.
    await Promise.resolve();
    if (account.pending.length > 0) {
      const batch = [...account.awaitingRecall.splice(0), ...account.pending.splice(0)];
      try {
        for (const { pending, answer } of await this.#serve(uid, account, batch)) pending.answer(answer);
      } catch (error) {
        account.stored = undefined;
        this.#options.logger.warn(
          { ...this.#about(uid), accountUid: uid, err: error },
          'cannot read or write the quota ledger',
        );
        for (const { fail } of batch) fail(error);
      }
    }
    account.isRunning = false;
    this.#waitForRecalled(uid, account);
    // The account may have been deleted in the meantime.
    if (isIdle(account) && this.#options.limit(uid) === undefined) this.#accounts.delete(uid);
  }

  /** Decides, writes the ledger, and returns the responses that may be sent. Waiting requests are kept for later. */
  async #serve(uid: string, account: Account, batch: readonly Pending[]): Promise<readonly Verdict[]> {
    for (let attempt = 1; ; attempt++) {
      const { stored, ledger } = await this.#currentLedger(uid, account);
      const { after, verdicts, awaitingRecall } = this.#decide(uid, ledger, batch);
      try {
        if (after !== ledger) await this.#write(uid, account, after, stored?.version);
      } catch (error) {
        account.stored = undefined;
        if (attempt === WRITE_ATTEMPTS) throw error;
        continue;
      }
      this.#recall(uid, account, awaitingRecall);
      this.#note(uid, account, { after, verdicts });
      return verdicts;
    }
  }

  async #currentLedger(uid: string, account: Account): Promise<{ stored: StoredLedger | undefined; ledger: Ledger }> {
    const { store, clock = Date.now } = this.#options;
    account.stored ??= await store.read(uid);
    const period = periodAt(clock());
    const { stored } = account;
    return { stored, ledger: stored === undefined ? newLedger(period) : inPeriod(stored.ledger, period) };
  }

  async #write(uid: string, account: Account, ledger: Ledger, version: string | undefined): Promise<void> {
    const written = await this.#options.store.write(uid, ledger, version);
    account.stored = { ledger, version: written };
  }

  #decide(uid: string, before: Ledger, batch: readonly Pending[]) {
    const { gatewayCount, isConnected, clock = Date.now } = this.#options;
    const limit = this.#options.limit(uid);
    const gateways = gatewayCount();
    const verdicts: Verdict[] = [];
    const awaitingRecall: Pending[] = [];
    // Returned permits are processed first, so that they can be granted again.
    let after = batch.reduce((ledger, { request }) => settle(ledger, request), before);
    for (const pending of batch) {
      const { request, waitsUntil } = pending;
      const granted = grant(after, request, { limit: limit ?? 0, gateways, id: randomUUID(), nowMs: clock() });
      after = granted?.ledger ?? after;
      if (limit === undefined) verdicts.push({ pending, answer: { kind: 'no_quota' } });
      else if (granted !== undefined) verdicts.push({ pending, answer: grantedAnswer(after, granted.block) });
      else if (request.want === 0) verdicts.push({ pending, answer: { kind: 'noted' } });
      else {
        const isRecallable = after.blocks.some(
          ({ gateway, instance }) => instance !== request.instance && isConnected(gateway, instance),
        );
        const mayWait = isRecallable && (waitsUntil === undefined || performance.now() < waitsUntil);
        if (mayWait) awaitingRecall.push(pending);
        else verdicts.push({ pending, answer: exhaustedAnswer(after, limit) });
      }
    }
    return { after, verdicts, awaitingRecall };
  }

  #recall(uid: string, account: Account, awaitingRecall: readonly Pending[]): void {
    if (awaitingRecall.length === 0) return;
    const now = performance.now();
    for (const pending of awaitingRecall) pending.waitsUntil ??= now + LIMITS.quotaRecallWaitMs;
    account.awaitingRecall.push(...awaitingRecall);
    if (now - account.recalledAt < LIMITS.quotaRecallWaitMs) return;
    account.recalledAt = now;
    this.#options.recall(uid);
  }

  /** Updates the usage that users see. */
  #note(uid: string, account: Account, { after, verdicts }: { after: Ledger; verdicts: readonly Verdict[] }): void {
    for (const { answer } of verdicts) {
      if (answer.kind === 'granted') account.exhausted = '';
      else if (answer.kind === 'exhausted') account.exhausted = exhaustedMark(answer.period, answer.limit);
    }
    const open = new Set(after.blocks.map(({ id }) => id));
    for (const id of account.spent.keys()) if (!open.has(id)) account.spent.delete(id);
    this.#options.onUsage(uid);
  }

  /**
   * When the first wait for recalled permits ends, handles the requests that are waiting. They are handled earlier if another request
   * for the account arrives.
   */
  #waitForRecalled(uid: string, account: Account): void {
    clearTimeout(account.timer);
    if (account.awaitingRecall.length === 0) return;
    const until = Math.min(...account.awaitingRecall.map(({ waitsUntil = 0 }) => waitsUntil));
    account.timer = setTimeout(
      () => {
        account.pending.push(...account.awaitingRecall.splice(0));
        this.#queue.add(uid);
      },
      Math.max(1, until - performance.now() + 1),
    );
  }
}

const newAccount = (): Account => ({
  stored: undefined,
  pending: [],
  awaitingRecall: [],
  isRunning: false,
  timer: undefined,
  recalledAt: -Infinity,
  spent: new Map<string, number>(),
  exhausted: undefined,
});

const isIdle = ({ isRunning, pending, awaitingRecall }: Account): boolean =>
  !isRunning && pending.length + awaitingRecall.length === 0;

const grantedAnswer = (
  { period }: Ledger,
  { id, permits }: { readonly id: string; readonly permits: number },
): PermitAnswer => ({ kind: 'granted', block: id, period, permits });

const exhaustedAnswer = (ledger: Ledger, limit: number): PermitAnswer => {
  return { kind: 'exhausted', period: ledger.period, limit, used: committed(ledger) };
};

const exhaustedMark = (period: string, quota: number): string => `${period} ${quota}`;
