import { setTimeout as delay } from 'node:timers/promises';
import {
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
import { PermitPool, type Decided } from './permit-pool.ts';
import { NO_QUOTA, type QuotaGate } from './quota-gate.ts';

/** What is asked of the leading operator. Rejects when there is none, or it does not answer in time. */
type AskPermits = (request: Omit<PermitRequest, 'gateway' | 'instance'>) => Promise<PermitAnswer>;

export interface BlockQuotaGateOptions {
  readonly ask: AskPermits;
  /** Tells the leading operator what was spent. Rejects as `ask` does. */
  readonly tell: (accounts: UsageReport['accounts']) => Promise<void>;
  /** Before how much was spent of a block is told for good. */
  readonly decided?: Decided;
  readonly logger: Logger;
  /** Milliseconds since the epoch: for the end of the month, which it decides nothing about. */
  readonly clock?: () => number;
  /** Milliseconds of a clock that is never set: for whatever lasts some time. */
  readonly uptime?: () => number;
}

type Exhausted = Extract<PermitAnswer, { kind: 'exhausted' }>;
type Waiter = (outcome: Permit | Refusal) => void;

/** One account's. */
interface State {
  readonly uid: string;
  readonly pool: PermitPool;
  quota: number;
  waiting: Waiter[];
  asking: Promise<void> | undefined;
  /** Of uptime. Before that, what is left is not asked to be more. */
  askAfterMs: number;
  exhausted: Exhausted | undefined;
  exhaustedUntilMs: number;
}

/** After a failure, and while the operator's clock says that the month is not over yet. */
const FAILURE_PAUSE_MS = 1_000;
const ROLLOVER_PAUSE_MS = 10_000;
/** Well below `LIMITS.quotaRecallWaitMs`: elsewhere requests wait for what goes back. */
const DECIDED_WAIT_MS_MAX = 100;

/**
 * Admits from blocks of permits that the operator grants, without I/O where one is at hand; asks for the next before the last one runs
 * out. There is one question at a time about an account, so that the operator can tell which blocks arrived.
 */
export class BlockQuotaGate implements QuotaGate {
  readonly #options: BlockQuotaGateOptions;
  readonly #states = new Map<string, State>();
  #serial = 0;
  #timer: NodeJS.Timeout | undefined;
  #isTelling = false;
  #isFailing = false;
  #isClosed = false;
  /** Questions that the operator did not answer. */
  failedAsks = 0;

  constructor(options: BlockQuotaGateOptions) {
    this.#options = options;
  }

  /** Permits at hand, of all accounts. */
  get permitsLeft(): number {
    let sum = 0;
    for (const { pool } of this.#states.values()) sum += pool.left;
    return sum;
  }

  admit(account: AccountConfig): Permit | Refusal | Promise<Permit | Refusal> {
    if (account.quota === undefined) return NO_QUOTA;
    if (this.#isClosed) return retryLater('quota_unavailable');
    const state = this.#stateOf(account.uid, account.quota);
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
      return refusalOf(state.exhausted, this.#now);
    return new Promise((resolve) => {
      state.waiting.push(resolve);
      this.#ask(state);
    });
  }

  giveBack(account: AccountConfig, permit: Permit): void {
    if (permit !== NO_QUOTA) this.#states.get(account.uid)?.pool.giveBack(permit);
  }

  /** The account's permits run out elsewhere: what is left here goes back. */
  recall(accountUid: string): void {
    const state = this.#states.get(accountUid);
    if (state === undefined) return;
    const { pool } = state;
    if (pool.left === 0 && !pool.hasClosed && !pool.isClosing) return;
    pool.closeAll();
    this.#ask(state);
  }

  /** Says now and then what was spent, and asks for more where traffic has grown, until `close`. */
  start(): void {
    this.#timer = setInterval(() => {
      this.#keepUp();
      void this.#tell();
    }, LIMITS.quotaReportMs);
  }

  #keepUp(): void {
    const uptimeMs = this.#uptime;
    for (const state of this.#states.values()) {
      if (uptimeMs >= state.askAfterMs && state.pool.isShort(uptimeMs)) this.#ask(state);
    }
  }

  /** Another operator leads, or the same one again. */
  connected(): void {
    for (const { pool } of this.#states.values()) pool.forgetTold();
  }

  /** Gives everything back; nothing may be admitted any more, and the recorder is closed. False: the operator does not take all of it now. */
  async close(): Promise<boolean> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    const areBack = await Promise.all([...this.#states.values()].map((state) => this.#giveAllBack(state)));
    return areBack.every((isBack) => isBack);
  }

  async #giveAllBack({ uid, pool, asking }: State): Promise<boolean> {
    // Its answer may be a block.
    await asking;
    pool.closeAll();
    pool.finishAll();
    try {
      if (pool.hasClosed) await this.#options.ask({ account: uid, want: 0, ...pool.report(++this.#serial) });
      return true;
    } catch (error) {
      this.#options.logger.info({ accountUid: uid, err: error }, 'the operator does not take permits back');
      return false;
    }
  }

  get #now(): number {
    return (this.#options.clock ?? Date.now)();
  }

  get #uptime(): number {
    return this.#options.uptime?.() ?? performance.now();
  }

  /** What cannot be told now is told next time. */
  async #tell(): Promise<void> {
    if (this.#isTelling) return;
    const untold: { readonly pool: PermitPool; readonly account: string; readonly blocks: PermitRequest['closed'] }[] =
      [];
    for (const { uid: account, pool } of this.#states.values()) {
      const blocks = pool.untold();
      if (blocks !== undefined) untold.push({ pool, account, blocks });
      if (untold.length === LIMITS.quotaReportAccountsMax) break;
    }
    if (untold.length === 0) return;
    this.#isTelling = true;
    try {
      await this.#options.tell(untold.map(({ account, blocks }) => ({ account, blocks })));
      for (const { pool, blocks } of untold) pool.told(blocks);
    } catch (error) {
      this.#options.logger.debug({ err: error }, 'what was spent cannot be told');
    } finally {
      this.#isTelling = false;
    }
  }

  #stateOf(uid: string, quota: number): State {
    const known = this.#states.get(uid);
    if (known?.quota === quota) return known;
    if (known !== undefined) {
      // Granted under a quota that is no more.
      if (quota < known.quota) known.pool.closeAll();
      known.quota = quota;
      known.exhausted = undefined;
      known.askAfterMs = 0;
      return known;
    }
    const state: State = {
      ...{ uid, quota, pool: new PermitPool(this.#uptime, this.#options.decided), waiting: [], asking: undefined },
      ...{ askAfterMs: 0, exhausted: undefined, exhaustedUntilMs: 0 },
    };
    this.#states.set(uid, state);
    return state;
  }

  /** Asks for permits, or only reports what goes back where nobody needs any. */
  #ask(state: State): void {
    state.asking ??= this.#askOnce(state).then(() => {
      state.asking = undefined;
      // What could not be reported goes with the next question.
      const canReport = state.pool.hasClosed && this.#uptime >= state.askAfterMs;
      if (!this.#isClosed && (state.waiting.length > 0 || canReport)) this.#ask(state);
    });
  }

  async #askOnce(state: State): Promise<void> {
    const { uid, pool, waiting } = state;
    // What is closed is to go back with this question.
    if (pool.isClosing) await this.#decided();
    const report = pool.report(++this.#serial);
    const isWanted =
      waiting.length > 0 || (pool.hasOpen && pool.needsMore()) || pool.isShort(this.#uptime) || pool.isOver(this.#now);
    const want = isWanted ? pool.want(waiting.length, this.#uptime) : 0;
    try {
      const answer = await this.#options.ask({ account: uid, want, ...report });
      pool.reported(report);
      if (this.#isFailing) this.#options.logger.info('permits can be had again');
      this.#isFailing = false;
      this.#take(state, answer);
    } catch (error) {
      this.failedAsks++;
      state.askAfterMs = this.#uptime + FAILURE_PAUSE_MS;
      this.#reportFailure(error);
      // Better a permit of the month that is over than none.
      this.#serve(state);
      this.#refuse(state, retryLater('quota_unavailable'));
    }
  }

  /** A disk that takes longer is not waited for. */
  async #decided(): Promise<void> {
    const waited = new AbortController();
    const pause = delay(DECIDED_WAIT_MS_MAX, undefined, { signal: waited.signal }).catch(() => undefined);
    await Promise.race([this.#options.decided?.(), pause]);
    waited.abort();
  }

  /** Once, until there was an answer again: every request may fail while no operator is there. */
  #reportFailure(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.logger[this.#isFailing ? 'debug' : 'warn']({ reason }, 'no permits can be had');
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
        this.#refuse(state, refusalOf(answer, this.#now));
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
    for (const tell of state.waiting.splice(0)) tell(refusal);
  }
}

const refusalOf = ({ period, limit, used }: Exhausted, nowMs: number): Refusal => {
  const resetMs = periodEndMs(period);
  return new Refusal('quota_exceeded', {
    headers: [['retry-after', String(Math.max(1, Math.ceil((resetMs - nowMs) / 1_000)))]],
    members: { limit, used, reset: new Date(resetMs).toISOString() },
  });
};
