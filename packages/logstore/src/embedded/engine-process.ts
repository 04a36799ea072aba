/** What the engine's process and the one that starts it share. Loads nothing of the engine. */

/** A parent sends them over IPC, once: arguments and environment of a process can be read by others. */
export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** ClickHouse's own, for clients that name none. */
export const DEFAULT_USER = 'default';

/** Sent to the parent over IPC, once. */
export type EngineMessage = { readonly url: string } | { readonly error: string; readonly inUse?: boolean };

/**
 * Each running statement blocks a thread of libuv's pool; the rest of it serves files. The pool takes its size from
 * UV_THREADPOOL_SIZE when it is first used.
 */
export const THREADPOOL_SIZE = 16;

/** The engine cannot be started; `message` says why and what to do, in one line. */
export class EngineStartError extends Error {
  override readonly name = 'EngineStartError';
  /** Another process has the folder; it may be free in a moment. */
  readonly inUse: boolean;

  constructor(message: string, { inUse = false, ...options }: ErrorOptions & { readonly inUse?: boolean } = {}) {
    super(message, options);
    this.inUse = inUse;
  }
}
