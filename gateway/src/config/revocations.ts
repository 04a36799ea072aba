import type { DiskCopy } from './disk-copy.ts';

export interface RevocationParts {
  readonly diskCopy: DiskCopy;
  /** Resolves when every request that has been admitted by now is accepted or refused. */
  readonly decided: () => Promise<void>;
}

/**
 * Keys that are not in force any more, until nothing of this gateway knows them. Outlives sessions: what one of them could not finish, the
 * next one does before it acknowledges anything.
 */
export class Revocations {
  readonly #parts: RevocationParts;
  /** What an earlier process left on the disk is not known. */
  #revoked = 1;
  #finished = 0;

  constructor(parts: RevocationParts) {
    this.#parts = parts;
  }

  /** A key has just gone out of force. */
  add(): void {
    this.#revoked++;
  }

  /**
   * True: no key that was revoked before this call opens anything any more: what it was used for is recorded or refused, and it is not on the
   * disk. False: it may, so nothing is to be acknowledged. However long the disk takes, until `signal`.
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
    const { diskCopy, decided } = this.#parts;
    const [isOffDisk] = await Promise.all([diskCopy.flush({ isRequired: true }), decided()]);
    return isOffDisk;
  }
}
