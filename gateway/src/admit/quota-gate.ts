import { setTimeout as delay } from 'node:timers/promises';
import {
  errorMessage,
  LIMITS,
  periodEndMs,
  type AccountConfig,
  type PermitAnswer,
  type PermitRequest,
  type UsageReport,
} from '@standin/contract';
import type { Logger } from 'pino';
import type { Permit } from '../request/accepted.ts';
import { Refusal, retryLater } from '../request/refusal.ts';
import { PermitPool } from './permit-pool.ts';

/** The permit for an account without a quota. */
export const NO_QUOTA: Permit = { period: '', block: '', number: 0 };

export interface QuotaGateOptions {
  /** Requests permits from the leading operator. Rejects if no operator is leading, or if the leader does not respond in time. */
  readonly ask: (request: Omit<PermitRequest, 'gateway' | 'instance'>) => Promise<PermitAnswer>;
  /** Reports the spent permits to the leading operator. Rejects in the same cases as `ask`. */
  readonly reportUsage: (accounts: UsageReport['accounts']) => Promise<void>;
  readonly logger: Logger;
  /**
   * Returns milliseconds since the epoch. Used only to estimate the time until the end of the month. The operator's clock decides
   * when the month ends.
   */
  readonly clock?: () => number;
  /** Returns milliseconds on a monotonic clock, for durations. */
  readonly uptime?: () => number;
}

type Exhausted = Extract<PermitAnswer, { kind: 'exhausted' }>;
type Waiter = (outcome: Permit | Refusal) => void;

/** The permits of one account, and its requests that wait for permits. */
interface State {
  readonly uid: string;
  readonly pool: PermitPool;
  quota: number;
  waiting: Waiter[];
  asking: Promise<void> | undefined;
  /** Uptime before which the gate does not request more permits while some are left. */
  askAfterMs: number;
  exhausted: Exhausted | undefined;
  exhaustedUntilMs: number;
}

/** The pause between permit requests after one has failed, while permits are left. */
const FAILURE_PAUSE_MS = 1_000;
/** The pause between permit requests while the month is over by this gateway's clock but not by the operator's. */
const ROLLOVER_PAUSE_MS = 10_000;
/**
 * How long a permit request waits until the spent permits of closing blocks are used or given back. Well below
 * `LIMITS.quotaRecallWaitMs`, because requests at other gateways wait for the returned permits.
 */
const SETTLED_WAIT_MS_MAX = 100;

/**
 * Decides whether an account may send another request this month. Each request needs a permit from a block that the operator has
 * granted. The next block is requested before the current one runs out, with only one permit request per account in flight, so that
 * the operator knows which blocks arrived.
 */
export class QuotaGate {
  readonly #options: QuotaGateOptions;
  readonly #states = new Map<string, State>();
  #serial = 0;
  #timer: NodeJS.Timeout | undefined;
  #isReporting = false;
  #isFailing = false;
  #isClosed = false;
  /** The number of permit requests that have failed. */
  failedAsks = 0;

  constructor(options: QuotaGateOptions) {
    this.#options = options;
  }

  /** The number of available permits across all accounts. */
  get permitsLeft(): number {
    let sum = 0;
    for (const { pool } of this.#states.values()) sum += pool.left;
    return sum;
  }

  /**
   * Spends one of the account's permits, or refuses the request. Called when the request is complete. Returns a promise only if the
   * answer depends on the operator.
   */
  admit(account: AccountConfig): Permit | Refusal | Promise<Permit | Refusal> {
    if (account.quota === undefined) return NO_QUOTA;
    if (this.#isClosed) return retryLater('quota_unavailable');
    const state = this.#accountState(account.uid, account.quota);
    const { pool } = state;
    const uptimeMs = this.#uptime;
    const mayAsk = uptimeMs >= state.askAfterMs;
    if (pool.left > 0 && !(mayAsk && pool.isOver(this.#now))) {
      const permit = pool.take(uptimeMs);
      if (permit !== undefined) {
        if (mayAsk && state.asking === undefined && pool.needsMore()) this.#ask(state);
        return permit;
      }
    }
    if (state.exhausted !== undefined && uptimeMs < state.exhaustedUntilMs)
      return quotaExceeded(state.exhausted, this.#now);
    return new Promise((resolve) => {
      state.waiting.push(resolve);
      this.#ask(state);
    });
  }

  /** Marks the permit as used because the request was recorded. */
  use(account: AccountConfig, permit: Permit): void {
    if (permit !== NO_QUOTA) this.#states.get(account.uid)?.pool.use(permit);
  }

  /** Gives the permit back because the request was not recorded, and therefore not accepted. */
  giveBack(account: AccountConfig, permit: Permit): void {
    if (permit !== NO_QUOTA) this.#states.get(account.uid)?.pool.giveBack(permit);
  }

  /** Returns the account's remaining permits to the operator, because other gateways are running out. */
  recall(accountUid: string): void {
    const state = this.#states.get(accountUid);
    if (state === undefined) return;
    const { pool } = state;
    if (pool.left === 0 && !pool.hasClosed && !pool.isClosing) return;
    pool.closeAll();
    this.#ask(state);
  }

  /** Until `close`, reports spent permits at a regular interval and requests more for accounts whose traffic has grown. */
  start(): void {
    this.#timer = setInterval(() => {
      const uptimeMs = this.#uptime;
      for (const state of this.#states.values()) {
        if (uptimeMs >= state.askAfterMs && state.pool.isShort(uptimeMs)) this.#ask(state);
      }
      void this.#reportUsage();
    }, LIMITS.quotaReportMs);
  }

  /**
   * Called when a stream to the leading operator begins. The leader may be a different operator than before, so the usage is
   * reported again.
   */
  connected(): void {
    for (const { pool } of this.#states.values()) pool.forgetReportedUsage();
  }

  /**
   * Returns all permits. Call this after the last request is recorded. Resolves with false if the operator did not accept all of
   * the permits.
   */
  async close(): Promise<boolean> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    const areBack = await Promise.all([...this.#states.values()].map((state) => this.#giveAllBack(state)));
    return areBack.every((isBack) => isBack);
  }

  async #giveAllBack({ uid, pool, asking }: State): Promise<boolean> {
    // The response to a permit request that is in flight may contain a block.
    await asking;
    pool.closeAll();
    pool.finishAll();
    try {
      if (pool.hasClosed) await this.#options.ask({ account: uid, want: 0, ...pool.report(++this.#serial) });
      return true;
    } catch (error) {
      this.#options.logger.info({ accountUid: uid, err: error }, 'could not return permits');
      return false;
    }
  }

  get #now(): number {
    return (this.#options.clock ?? Date.now)();
  }

  get #uptime(): number {
    return this.#options.uptime?.() ?? performance.now();
  }

  /** Reports the usage that has changed. The next interval repeats a failed report. */
  async #reportUsage(): Promise<void> {
    if (this.#isReporting) return;
    const changed: { readonly state: State; readonly blocks: PermitRequest['closed'] }[] = [];
    for (const state of this.#states.values()) {
      const blocks = state.pool.unreportedUsage();
      if (blocks !== undefined) changed.push({ state, blocks });
      if (changed.length === LIMITS.quotaReportAccountsMax) break;
    }
    if (changed.length === 0) return;
    // The next report begins with the other accounts, so that all are reported in turn if there are too many for one report.
    for (const { state } of changed) {
      this.#states.delete(state.uid);
      this.#states.set(state.uid, state);
    }
    this.#isReporting = true;
    try {
      await this.#options.reportUsage(changed.map(({ state, blocks }) => ({ account: state.uid, blocks })));
      for (const { state, blocks } of changed) state.pool.usageReported(blocks);
    } catch (error) {
      this.#options.logger.debug({ err: error }, 'could not report usage');
    } finally {
      this.#isReporting = false;
    }
  }

  #accountState(uid: string, quota: number): State {
    const known = this.#states.get(uid);
    if (known?.quota === quota) return known;
    if (known !== undefined) {
      // The operator granted the old permits under a larger quota, so they are returned.
      if (quota < known.quota) known.pool.closeAll();
      known.quota = quota;
      known.exhausted = undefined;
      known.askAfterMs = 0;
      return known;
    }
    const state: State = {
      uid,
      quota,
      pool: new PermitPool(this.#uptime),
      waiting: [],
      asking: undefined,
      askAfterMs: 0,
      exhausted: undefined,
      exhaustedUntilMs: 0,
    };
    this.#states.set(uid, state);
    return state;
  }

  /** Reports the final counts of closed blocks and requests permits. If no permits are needed, only reports the counts. */
  #ask(state: State): void {
    state.asking ??= this.#askOnce(state).then(() => {
      state.asking = undefined;
      // After a failure, final counts wait for the next permit request.
      const canReport = state.pool.hasClosed && this.#uptime >= state.askAfterMs;
      if (!this.#isClosed && (state.waiting.length > 0 || canReport)) this.#ask(state);
    });
  }

  async #askOnce(state: State): Promise<void> {
    const { uid, pool, waiting } = state;
    // Wait until the spent permits of closing blocks are used or given back, unless the disk takes too long.
    if (pool.isClosing) await Promise.race([pool.settled(), delay(SETTLED_WAIT_MS_MAX)]);
    const report = pool.report(++this.#serial);
    const isWanted =
      waiting.length > 0 || (pool.hasOpen && pool.needsMore()) || pool.isShort(this.#uptime) || pool.isOver(this.#now);
    const want = isWanted ? pool.want(waiting.length, this.#uptime) : 0;
    try {
      const answer = await this.#options.ask({ account: uid, want, ...report });
      pool.reported(report);
      if (this.#isFailing) this.#options.logger.info('permits available again');
      this.#isFailing = false;
      this.#take(state, answer);
    } catch (error) {
      this.failedAsks++;
      state.askAfterMs = this.#uptime + FAILURE_PAUSE_MS;
      this.#reportFailure(error);
      // A permit of the previous month is better than none.
      this.#serve(state);
      this.#refuse(state, retryLater('quota_unavailable'));
    }
  }

  /** Logs the first failure as a warning. Logs further failures at the debug level until the operator responds again. */
  #reportFailure(error: unknown): void {
    const reason = errorMessage(error);
    this.#options.logger[this.#isFailing ? 'debug' : 'warn']({ reason }, 'no permits available');
    this.#isFailing = true;
  }

  #take(state: State, answer: PermitAnswer): void {
    const { pool } = state;
    switch (answer.kind) {
      case 'granted':
        state.exhausted = undefined;
        pool.add(answer);
        if (pool.isOver(this.#now)) state.askAfterMs = this.#uptime + ROLLOVER_PAUSE_MS;
        this.#serve(state);
        return;
      case 'exhausted':
        pool.closeBefore(answer.period);
        state.exhausted = answer;
        state.askAfterMs = state.exhaustedUntilMs = this.#uptime + LIMITS.quotaAskAgainMs;
        this.#serve(state);
        this.#refuse(state, quotaExceeded(answer, this.#now));
        return;
      case 'noted':
        return;
      case 'no_quota':
        this.#refuse(state, retryLater('quota_unavailable'));
        if (pool.isEmpty) this.#states.delete(state.uid);
    }
  }

  #serve({ pool, waiting }: State): void {
    while (waiting.length > 0) {
      const permit = pool.take(this.#uptime);
      if (permit === undefined) return;
      waiting.shift()?.(permit);
    }
  }

  #refuse(state: State, refusal: Refusal): void {
    for (const resolve of state.waiting.splice(0)) resolve(refusal);
  }
}

const quotaExceeded = ({ period, limit, used }: Exhausted, nowMs: number): Refusal => {
  const resetMs = periodEndMs(period);
  return new Refusal('quota_exceeded', {
    headers: [['retry-after', String(Math.max(1, Math.ceil((resetMs - nowMs) / 1_000)))]],
    members: { limit, used, reset: new Date(resetMs).toISOString() },
  });
};
