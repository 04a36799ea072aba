/** Definitions that the engine process shares with its parent. This file must not load the engine. */

/** The login. A parent sends it once over IPC, because other users of the machine can read the arguments of a process. */
export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** ClickHouse's own default, for clients that do not name a user. */
export const DEFAULT_USER = 'default';

/** Sent once by the engine process to its parent over IPC. */
export type EngineMessage = { readonly url: string } | { readonly error: string; readonly inUse?: boolean };

/**
 * Each running statement blocks a thread in libuv's pool, and the rest of the pool serves files. The pool takes its size from
 * UV_THREADPOOL_SIZE when it is first used.
 */
export const THREADPOOL_SIZE = 16;

/** Thrown if the engine cannot be started. `message` says why and what to do, in one line. */
export class EngineStartError extends Error {
  override readonly name = 'EngineStartError';
  /** Whether another process is using the folder. If so, the folder may be free in a moment. */
  readonly inUse: boolean;

  constructor(message: string, { inUse = false, ...options }: ErrorOptions & { readonly inUse?: boolean } = {}) {
    super(message, options);
    this.inUse = inUse;
  }
}
