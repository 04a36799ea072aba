import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

/** Name of the Lease by which the operator's replicas elect their leader. */
export const LEASE_NAME = 'standin-operator';

/** One operator's term as leader. */
export interface Term {
  /** Increases with every term. */
  readonly epoch: number;
  /** Aborts when leadership ends. */
  readonly signal: AbortSignal;
  /** Returns for how long this operator leads unless it renews its lease. Infinity if it leads alone. */
  readonly remainingMs: () => number;
}

/** Elects the leader. In a cluster, this is `LeaderElector` from packages/kube, otherwise `soleLeader`. */
export interface Leadership {
  /** Calls the callbacks until `signal` aborts. `onStartedLeading` resolves after the term's signal has aborted. */
  run(callbacks: {
    readonly onStartedLeading: (term: Term) => Promise<void>;
    readonly onNewLeader: (leader: { readonly url: string | undefined }) => void;
    readonly signal: AbortSignal;
  }): Promise<void>;
}

/** Delay before the next term after a failed one. */
const RETRY_MS = 1_000;

/**
 * Returns the leadership for a single operator, which leads immediately. A file in `dataDir` stores the epoch, so that it also
 * increases across restarts.
 */
export const soleLeader = (dataDir: string, logger: Logger): Leadership => ({
  run: async ({ onStartedLeading, signal }) => {
    const file = path.join(dataDir, 'epoch');
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const before = Number(await readFile(file, 'utf8').catch(() => '0'));
    for (let epoch = Number.isSafeInteger(before) ? before + 1 : 1; !signal.aborted; epoch += 1) {
      await writeFile(file, `${epoch}\n`);
      try {
        await onStartedLeading({ epoch, signal, remainingMs: () => (signal.aborted ? 0 : Infinity) });
      } catch (error) {
        logger.error({ err: error, epoch }, 'leader failed, retrying');
        await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  },
});
