import { setTimeout as delay } from 'node:timers/promises';
import type { ProjectLog } from '../backend.ts';

/** Another process may also insert rows into a local log. */
const OTHERS_MS = 1_000;
const POLL_MS = 250;

/**
 * Reads the log, and again when further requests arrive, until the result is enough or `over` aborts. Resolves with the last result. While requests
 * arrive, reads take at most half of the time.
 */
export const readUntil = async <T>(
  log: Pick<ProjectLog, 'own' | 'follow'>,
  read: () => Promise<T>,
  isEnough: (result: T) => boolean,
  over: AbortSignal,
): Promise<T> => {
  const feed = log.own === undefined ? log.follow({ pollIntervalMs: POLL_MS }) : undefined;
  const close = (): void => feed?.close();
  over.addEventListener('abort', close);
  try {
    for (;;) {
      const startedMs = performance.now();
      // After a failure, the next read reports it.
      const arrived = (feed?.next() ?? log.own?.next(AbortSignal.any([over, AbortSignal.timeout(OTHERS_MS)])))?.catch(
        () => undefined,
      );
      const result = await read();
      if (isEnough(result) || over.aborted || feed?.isClosed === true) return result;
      const tookMs = performance.now() - startedMs;
      await arrived;
      const restMs = startedMs + 2 * tookMs - performance.now();
      if (restMs > 0) await delay(restMs, undefined, { signal: over }).catch(() => undefined);
    }
  } finally {
    over.removeEventListener('abort', close);
    close();
  }
};
