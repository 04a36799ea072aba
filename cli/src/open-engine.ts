import { setTimeout as delay } from 'node:timers/promises';
import { EngineStartError, startEmbeddedEngine, type EmbeddedEngine } from '@standin/engine';
import type { Logger } from 'pino';
import { PlainError } from './plain-error.ts';

export interface OpenEngineOptions {
  /** Folder that contains the log. Only one process can use it at a time. */
  readonly dataDir: string;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
}

/**
 * How long to wait for another process that uses the folder. `standin logs` uses the folder for a second, and a stopped or killed
 * `standin dev` for a few seconds.
 */
const BUSY_MS_MAX = 8_000;
const TRY_AGAIN_MS = 200;

/**
 * Starts ClickHouse on a folder. If another process uses the folder, waits up to `BUSY_MS_MAX`. Rejects with a `PlainError` if
 * ClickHouse cannot start.
 */
export const openEngine = async ({ dataDir, logger, signal }: OpenEngineOptions): Promise<EmbeddedEngine> => {
  const deadline = performance.now() + BUSY_MS_MAX;
  for (;;) {
    try {
      return await startEmbeddedEngine({ dataDir, logger });
    } catch (error) {
      if (!(error instanceof EngineStartError)) throw error;
      if (!error.inUse || performance.now() > deadline) throw new PlainError(error.message, { cause: error });
      await delay(TRY_AGAIN_MS, undefined, { signal });
    }
  }
};
