import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** The Lease that operators of one cluster hold in turns. */
export const LEASE_NAME = 'standin-operator';

/** One operator's time as leader. */
export interface Term {
  /** Grows with every leader. */
  readonly epoch: number;
  /** Aborted when leadership ends. */
  readonly signal: AbortSignal;
}

/** Who leads. Kubernetes: `LeaderElector` of packages/kube; without a cluster: `soleLeader`. */
export interface Leadership {
  /** Calls back until `signal` aborts; `onStartedLeading` resolves after the term's signal aborted. */
  run(callbacks: {
    readonly onStartedLeading: (term: Term) => Promise<void>;
    readonly onNewLeader: (leader: { readonly url: string | undefined }) => void;
    readonly signal: AbortSignal;
  }): Promise<void>;
}

/** The only operator there is: leads at once, with an epoch that a file in `dataDir` counts over restarts. */
export const soleLeader = (dataDir: string): Leadership => ({
  run: async ({ onStartedLeading, signal }) => {
    const file = path.join(dataDir, 'epoch');
    const before = Number(await readFile(file, 'utf8').catch(() => '0'));
    const epoch = (Number.isSafeInteger(before) ? before : 0) + 1;
    await mkdir(dataDir, { recursive: true });
    await writeFile(file, `${epoch}\n`);
    await onStartedLeading({ epoch, signal });
  },
});
