import { LIMITS, type SettledProject, type SettledReport, type StreamMessage } from '@standin/contract';
import type { Logger } from 'pino';
import type { OperatorConnection } from './operator-connection.ts';

export interface SettledReportsOptions {
  readonly connection: Pick<OperatorConnection, 'settled'>;
  /** See `Settlement.wait`. */
  readonly settle: (projects: readonly string[], tell: (settled: readonly SettledProject[]) => void) => () => void;
  readonly logger: Logger;
  /** Aborts when the session ends. */
  readonly signal: AbortSignal;
}

/** Responds to the questions of one session whether the log is complete. What becomes known at the same time is one report. */
export class SettledReports {
  readonly #options: SettledReportsOptions;
  #unsent: SettledReport['settled'] = [];
  #isSending = false;

  constructor(options: SettledReportsOptions) {
    this.#options = options;
  }

  ask({ ask, projects }: Extract<StreamMessage, { type: 'settle' }>): void {
    const stop = this.#options.settle(projects, (settled) => {
      if (this.#options.signal.aborted) return;
      this.#unsent.push(...settled.map((project) => ({ ask, ...project })));
      if (!this.#isSending) void this.#send();
    });
    // The operator does not wait any longer.
    setTimeout(stop, LIMITS.settleWaitMs).unref();
  }

  /** A report that fails is not repeated, because the operator does not wait for long. */
  async #send(): Promise<void> {
    const { connection, logger, signal } = this.#options;
    this.#isSending = true;
    // Other questions may have the same answer.
    await Promise.resolve();
    while (this.#unsent.length > 0 && !signal.aborted) {
      const settled = this.#unsent.splice(0, LIMITS.settledReportedMax);
      await connection.settled(settled, signal).catch((error: unknown) => {
        logger.info({ err: error }, 'report of settled logs failed');
      });
    }
    this.#isSending = false;
  }
}
