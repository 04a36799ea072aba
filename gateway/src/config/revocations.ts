import type { DiskCopy } from './disk-copy.ts';

/**
 * Keys that are not in force any more, until nothing of this gateway knows them. Outlives sessions: what one of them could not finish, the
 * next one does before it acknowledges anything.
 */
export class Revocations {
  readonly #diskCopy: DiskCopy;
  /** What an earlier process left on the disk is not known. */
  #revoked = 1;
  #finished = 0;

  constructor(diskCopy: DiskCopy) {
    this.#diskCopy = diskCopy;
  }

  /** A key has just gone out of force. */
  add(): void {
    this.#revoked++;
  }

  /** True: no key that was revoked before this call can come back. False: it may, so nothing is to be acknowledged. */
  async finish(): Promise<boolean> {
    const upTo = this.#revoked;
    if (this.#finished >= upTo) return true;
    if (!(await this.#diskCopy.flush({ isRequired: true }))) return false;
    this.#finished = Math.max(this.#finished, upTo);
    return true;
  }
}
