import type { DiskCopy } from './disk-copy.ts';

export interface RevocationParts {
  readonly diskCopy: DiskCopy;
  /** Resolves when every request that has been admitted so far is recorded or refused. */
  readonly settled: () => Promise<void>;
}

/**
 * Tracks revoked keys until no part of this gateway accepts them. Outlives sessions, so the next session finishes the work of the
 * previous one before it acknowledges anything.
 */
export class Revocations {
  readonly #parts: RevocationParts;
  /** Starts at 1 because an earlier process may have left revoked keys on disk. */
  #revoked = 1;
  #finished = 0;

  constructor(parts: RevocationParts) {
    this.#parts = parts;
  }

  /** Records that a key has just been revoked. */
  add(): void {
    this.#revoked++;
  }

  /**
   * Resolves with true if every key that was revoked before this call is unusable. Requests that used such a key are then recorded
   * or refused, and the key is not on disk. Resolves with false if a key may still be usable, in which case nothing may be
   * acknowledged. Waits for the disk until `signal` aborts.
   */
  async finish(signal: AbortSignal): Promise<boolean> {
    const upTo = this.#revoked;
    if (this.#finished >= upTo) return true;
    const aborted = Promise.withResolvers<boolean>();
    const abort = (): void => aborted.resolve(false);
    signal.addEventListener('abort', abort);
    const isDone = await Promise.race([this.#settle(), aborted.promise]);
    signal.removeEventListener('abort', abort);
    if (isDone) this.#finished = Math.max(this.#finished, upTo);
    return isDone;
  }

  async #settle(): Promise<boolean> {
    const { diskCopy, settled } = this.#parts;
    const [isOffDisk] = await Promise.all([diskCopy.flush({ isRequired: true }), settled()]);
    return isOffDisk;
  }
}
