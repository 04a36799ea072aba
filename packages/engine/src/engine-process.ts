/** Definitions that the engine's process shares with its parent. Must not load the engine. */

/** A parent sends them over IPC, once, because other users can read the arguments and environment of a process. */
export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** ClickHouse's own default, for clients that name no user. */
export const DEFAULT_USER = 'default';

/** The engine's process sends it to the parent over IPC, once. */
export type EngineMessage = { readonly url: string } | { readonly error: string; readonly inUse?: boolean };

/**
 * Each running statement blocks a thread of libuv's pool; the rest of the pool serves files. The pool takes its size from
 * UV_THREADPOOL_SIZE when it is first used.
 */
export const THREADPOOL_SIZE = 16;

/** The engine cannot be started; `message` says why and what to do, in one line. */
export class EngineStartError extends Error {
  override readonly name = 'EngineStartError';
  /** Another process uses the folder. It may be free in a moment. */
  readonly inUse: boolean;

  constructor(message: string, { inUse = false, ...options }: ErrorOptions & { readonly inUse?: boolean } = {}) {
    super(message, options);
    this.inUse = inUse;
  }
}
