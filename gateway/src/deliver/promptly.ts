import type { SettledProject } from '@standin/contract';
import type { Spool } from '../record/spool/spool.ts';
import type { Delivery } from './delivery.ts';
import type { Settlement } from './settlement.ts';

interface PromptParts {
  readonly settlement: Pick<Settlement, 'wait'>;
  readonly delivery: Pick<Delivery, 'hurry' | 'hasDelivered' | 'lastFile'>;
  readonly spool: Pick<Spool, 'onKept'>;
}

/** Delivers for readers in the same process, for whom records do not wait for others. See `Gateway`. */
export const promptly = ({ settlement, delivery, spool }: PromptParts) => {
  const readers = new Set<() => void>();
  spool.onKept(() => {
    for (const tell of readers) tell();
  });
  const deliver = (projects: readonly string[], signal: AbortSignal): Promise<readonly SettledProject[]> =>
    until(signal, (resolve) => {
      const stop = settlement.wait(projects, resolve);
      delivery.hurry();
      return stop;
    });
  return {
    settle: async (project: string, signal: AbortSignal): Promise<SettledProject> => {
      const [settled] = await deliver([project], signal);
      if (settled === undefined) throw new Error('the project is missing');
      return settled;
    },
    nextDelivery: async (signal: AbortSignal): Promise<void> => {
      if (delivery.hasDelivered(delivery.lastFile))
        await until<undefined>(signal, (resolve) => {
          const tell = (): void => resolve(undefined);
          readers.add(tell);
          return () => readers.delete(tell);
        });
      await deliver([], signal);
    },
  };
};

/** Resolves when `begin` calls its callback. Then, or when the signal aborts, calls the function that `begin` returned. */
const until = async <T>(signal: AbortSignal, begin: (resolve: (value: T) => void) => () => void): Promise<T> => {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort);
  const stop = begin(resolve);
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', abort);
    stop();
  }
};
