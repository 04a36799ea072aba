import type { SettledProject } from '@standin/contract';
import type { Spool } from '../record/spool/spool.ts';
import type { Delivery } from './delivery.ts';
import type { Settlement } from './settlement.ts';

interface PromptParts {
  readonly settlement: Pick<Settlement, 'wait'>;
  readonly delivery: Pick<Delivery, 'hurry' | 'readRecent'>;
  readonly spool: Pick<Spool, 'onKept'>;
}

/** Delivers records to readers in the same process without waiting for more records. See `Gateway`. */
export const promptly = ({ settlement, delivery, spool }: PromptParts) => {
  const readers = new Set<() => void>();
  spool.onKept(() => {
    for (const tell of readers) tell();
  });
  return {
    settle: async (project: string, signal: AbortSignal): Promise<SettledProject> => {
      const [settled] = await until<readonly SettledProject[]>(signal, (resolve) => {
        const stop = settlement.wait([project], resolve);
        delivery.hurry();
        return stop;
      });
      if (settled === undefined) throw new Error('the project is missing');
      return settled;
    },
    recent: () => delivery.readRecent(),
    nextRecord: async (signal: AbortSignal): Promise<void> => {
      await until<undefined>(signal, (resolve) => {
        const tell = (): void => resolve(undefined);
        readers.add(tell);
        return () => readers.delete(tell);
      });
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
