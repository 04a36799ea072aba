import { randomUUID } from 'node:crypto';
import { LIMITS, periodOf, type PermitAnswer, type PermitRequest, type UsageReport } from '@standin/contract';
import type { Logger } from 'pino';
import type { LedgerStore, StoredLedger } from './ledger-store.ts';
import { committed, grant, inPeriod, newLedger, settle, type Ledger } from './ledger.ts';
import { settleLost, type CountPermits } from './settle-lost.ts';
import { acceptedOf, type QuotaUsage } from './usage.ts';

export interface QuotaKeeperOptions {
  readonly store: LedgerStore;
  readonly logger: Logger;
  /** The account's quota; undefined: it has none, or there is no such account. */
  readonly limit: (accountUid: string) => number | undefined;
  /** Gateways that have a stream. */
  readonly gatewayCount: () => number;
  /** Whether this process of a gateway has a stream: then it hears a recall. */
  readonly isConnected: (gateway: string, instance: string) => boolean;
  /** Tells all gateways to give back what they have left of an account's permits. */
  readonly recall: (accountUid: string) => void;
  /** Undefined: there is no log. */
  readonly countPermits: CountPermits | undefined;
  /** `usage` of an account has changed. */
  readonly onUsage: (accountUid: string) => void;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
}

interface Pending {
  readonly request: PermitRequest;
  readonly answer: (answer: PermitAnswer) => void;
  readonly fail: (error: unknown) => void;
  /** Of `performance.now()`: until then it waits for permits that were recalled. */
  patience: number | undefined;
}

/** One account's, in this term. */
interface Account {
  /** As it was read or written last; undefined: to be read. */
  stored: StoredLedger | undefined;
  pending: Pending[];
  /** Of those, the ones that wait for permits that were recalled. */
  starving: Pending[];
  running: Promise<void> | undefined;
  timer: NodeJS.Timeout | undefined;
  recalledAt: number;
  /** What gateways said they have spent of their blocks. */
  readonly spent: Map<string, number>;
  /** Quota and period under which a gateway got nothing, last; empty: one got some. */
  exhausted: string | undefined;
}

interface Verdict {
  readonly pending: Pending;
  readonly answer: PermitAnswer;
}

/** The ledger changed since it was read, or the API server hiccuped: what is there now decides. */
const WRITE_ATTEMPTS = 2;
/**
 * Answers gateways that want permits, for one leader's term. All that an answer promises is in the ledger before the answer goes
 * out; each write is a compare-and-swap, so that nothing depends on this operator still leading. Requests about one account that come
 * together share a write.
 */
export class QuotaKeeper {
  readonly #options: QuotaKeeperOptions;
  readonly #accounts = new Map<string, Account>();
  #isStopped = false;

  constructor(options: QuotaKeeperOptions) {
    this.#options = options;
  }

  /** Rejects when nothing is known: the ledger cannot be read or written, or the term is over. */
  ask(request: PermitRequest): Promise<PermitAnswer> {
    if (this.#isStopped) return Promise.reject(new Error('this operator stopped leading'));
    const { account: uid, held, closed } = request;
    // What is given back is written down whatever the quota is now; but accounts without one have no ledger.
    const isStranger = held.length + closed.length === 0;
    if (isStranger && this.#options.limit(uid) === undefined) return Promise.resolve({ kind: 'no_quota' });
    const account = this.#accountOf(uid);
    const { promise, resolve, reject } = Promise.withResolvers<PermitAnswer>();
    account.pending.push({ request, answer: resolve, fail: reject, patience: undefined });
    this.#wake(uid, account);
    return promise;
  }

  /** What a process of a gateway held that is no more, its every record in the log: see `settleLost`. */
  async drained(instance: string): Promise<void> {
    const { countPermits, clock = Date.now, ...parts } = this.#options;
    if (countPermits === undefined) return;
    await settleLost(instance, { ...parts, countPermits, clock, ask: (request) => this.ask(request) });
  }

  /** What gateways have spent. What it is added to is read where it is not known yet. */
  report({ gateway, instance, accounts }: UsageReport): void {
    for (const { account: uid, blocks } of accounts) {
      if (this.#isStopped || this.#options.limit(uid) === undefined) continue;
      const account = this.#accountOf(uid);
      for (const { block, used } of blocks) account.spent.set(block, used);
      if (account.stored === undefined) this.#look(uid, { gateway, instance });
      else this.#options.onUsage(uid);
    }
  }

  /** Undefined: it has no quota, or nobody has asked in this term. */
  usage(uid: string): QuotaUsage | undefined {
    const { limit, clock = Date.now } = this.#options;
    const quota = limit(uid);
    const account = this.#accounts.get(uid);
    const ledger = account?.stored?.ledger;
    if (quota === undefined || account === undefined || ledger === undefined) return undefined;
    const now = periodOf(clock());
    const period = now > ledger.period ? now : ledger.period;
    const { spent, exhausted } = account;
    const isExhausted = exhausted === undefined ? undefined : exhausted === exhaustedMark(period, quota);
    const granted = committed(inPeriod(ledger, period));
    return { period, accepted: acceptedOf(ledger, spent, period), granted, quota, isExhausted };
  }

  /** The account is gone. */
  forget(uid: string): void {
    const account = this.#accounts.get(uid);
    this.#accounts.delete(uid);
    clearTimeout(account?.timer);
    const { store, logger } = this.#options;
    void Promise.resolve(account?.running)
      .then(() => store.remove(uid))
      .catch((error: unknown) => logger.warn({ accountUid: uid, err: error }, 'the quota’s ledger cannot be removed'));
  }

  /** Resolves when no write is under way any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const accounts = [...this.#accounts.values()];
    for (const account of accounts) {
      clearTimeout(account.timer);
      const waiting = [...account.pending.splice(0), ...account.starving.splice(0)];
      for (const { fail } of waiting) fail(new Error('this operator stopped leading'));
    }
    await Promise.all(accounts.map(async ({ running }) => running));
  }

  #accountOf(uid: string): Account {
    const account = this.#accounts.get(uid) ?? newAccount();
    this.#accounts.set(uid, account);
    return account;
  }

  /** Has the ledger read. */
  #look(uid: string, who: { readonly gateway: string; readonly instance: string }): void {
    const request = { ...who, account: uid, serial: 0, want: 0, held: [], closed: [] };
    const account = this.#accountOf(uid);
    account.pending.push({ request, answer: () => undefined, fail: () => undefined, patience: undefined });
    this.#wake(uid, account);
  }

  #wake(uid: string, account: Account): void {
    account.running ??= this.#run(uid, account);
  }

  async #run(uid: string, account: Account): Promise<void> {
    // Whatever arrives within this turn of the event loop is answered together.
    await Promise.resolve();
    while (account.pending.length > 0) {
      const batch = [...account.starving.splice(0), ...account.pending.splice(0)];
      try {
        for (const { pending, answer } of await this.#serve(uid, account, batch)) pending.answer(answer);
      } catch (error) {
        account.stored = undefined;
        this.#options.logger.warn({ accountUid: uid, err: error }, 'the quota’s ledger cannot be read or written');
        for (const { fail } of batch) fail(error);
      }
    }
    this.#waitForRecalled(uid, account);
    // In the same turn in which nothing was left: whoever asks now begins anew.
    account.running = undefined;
  }

  /** Decides, writes the ledger, and says what may be answered. Those that starve are kept for later. */
  async #serve(uid: string, account: Account, batch: readonly Pending[]): Promise<readonly Verdict[]> {
    for (let attempt = 1; ; attempt++) {
      const { stored, ledger } = await this.#ledgerOf(uid, account);
      const { after, verdicts, starving } = this.#decide(uid, ledger, batch);
      try {
        if (after !== ledger) await this.#write(uid, account, after, stored?.version);
      } catch (error) {
        account.stored = undefined;
        if (attempt === WRITE_ATTEMPTS) throw error;
        continue;
      }
      this.#starve(uid, account, starving);
      this.#note(uid, account, { after, verdicts });
      return verdicts;
    }
  }

  async #ledgerOf(uid: string, account: Account): Promise<{ stored: StoredLedger | undefined; ledger: Ledger }> {
    const { store, clock = Date.now } = this.#options;
    account.stored ??= await store.read(uid);
    const period = periodOf(clock());
    const { stored } = account;
    return { stored, ledger: stored === undefined ? newLedger(period) : inPeriod(stored.ledger, period) };
  }

  async #write(uid: string, account: Account, ledger: Ledger, version: string | undefined): Promise<void> {
    const written = await this.#options.store.write(uid, ledger, version);
    account.stored = { ledger, version: written };
  }

  #decide(uid: string, before: Ledger, batch: readonly Pending[]) {
    const { gatewayCount, isConnected, limit: limitOf, clock = Date.now } = this.#options;
    const limit = limitOf(uid);
    const gateways = gatewayCount();
    const verdicts: Verdict[] = [];
    const starving: Pending[] = [];
    // First what comes back, then who gets it.
    let after = batch.reduce((ledger, { request }) => settle(ledger, request), before);
    for (const pending of batch) {
      const { request, patience } = pending;
      const granted = grant(after, request, { limit: limit ?? 0, gateways, id: randomUUID(), nowMs: clock() });
      after = granted?.ledger ?? after;
      if (limit === undefined) verdicts.push({ pending, answer: { kind: 'no_quota' } });
      else if (granted !== undefined) verdicts.push({ pending, answer: grantedAnswer(after, granted.block) });
      else if (request.want === 0) verdicts.push({ pending, answer: { kind: 'noted' } });
      else {
        const isRecallable = after.blocks.some(
          ({ gateway, instance }) => instance !== request.instance && isConnected(gateway, instance),
        );
        const isPatient = patience === undefined || performance.now() < patience;
        if (isRecallable && isPatient) starving.push(pending);
        else verdicts.push({ pending, answer: exhaustedAnswer(after, limit) });
      }
    }
    return { after, verdicts, starving };
  }

  #starve(uid: string, account: Account, starving: readonly Pending[]): void {
    if (starving.length === 0) return;
    const now = performance.now();
    for (const pending of starving) pending.patience ??= now + LIMITS.quotaRecallWaitMs;
    account.starving.push(...starving);
    if (now - account.recalledAt < LIMITS.quotaRecallWaitMs) return;
    account.recalledAt = now;
    this.#options.recall(uid);
  }

  /** What people see of it. */
  #note(uid: string, account: Account, { after, verdicts }: { after: Ledger; verdicts: readonly Verdict[] }): void {
    for (const { answer } of verdicts) {
      if (answer.kind === 'granted') account.exhausted = '';
      else if (answer.kind === 'exhausted') account.exhausted = exhaustedMark(answer.period, answer.limit);
    }
    const open = new Set(after.blocks.map(({ id }) => id));
    for (const id of account.spent.keys()) if (!open.has(id)) account.spent.delete(id);
    this.#options.onUsage(uid);
  }

  /** Looks at them again when something comes back, at the latest when their patience ends. */
  #waitForRecalled(uid: string, account: Account): void {
    clearTimeout(account.timer);
    if (account.starving.length === 0) return;
    const until = Math.min(...account.starving.map(({ patience = 0 }) => patience));
    account.timer = setTimeout(
      () => {
        account.pending.push(...account.starving.splice(0));
        this.#wake(uid, account);
      },
      Math.max(1, until - performance.now() + 1),
    );
  }
}

const newAccount = (): Account => ({
  ...{ stored: undefined, pending: [], starving: [], running: undefined, timer: undefined },
  ...{ recalledAt: -Infinity, spent: new Map<string, number>(), exhausted: undefined },
});

const grantedAnswer = (
  { period }: Ledger,
  { id, permits }: { readonly id: string; readonly permits: number },
): PermitAnswer => ({ kind: 'granted', block: id, period, permits });

const exhaustedAnswer = (ledger: Ledger, limit: number): PermitAnswer => ({
  kind: 'exhausted',
  period: ledger.period,
  limit,
  used: committed(ledger),
});

const exhaustedMark = (period: string, quota: number): string => `${period} ${quota}`;
