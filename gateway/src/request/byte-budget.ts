/**
 * The memory that the gateway holds for callers: request heads and bodies, and log rows that wait for the disk. All of them share
 * one limit because they use the same memory. They are counted separately because a shortage of each has a different remedy.
 */
export class ByteBudget {
  readonly #bytesMax: number;
  #receivedBytes = 0;
  #unrecordedBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  get unrecordedBytes(): number {
    return this.#unrecordedBytes;
  }

  get isFull(): boolean {
    return this.#receivedBytes + this.#unrecordedBytes >= this.#bytesMax;
  }

  /** Whether rows that wait for the disk use more than half of the budget, so that they rather than traffic cause a shortage. */
  get isFullOfRows(): boolean {
    return this.#unrecordedBytes > this.#bytesMax / 2;
  }

  /** Reserves room for a body or a head. Returns false if there is no room. */
  takeForBody(bytes: number): boolean {
    if (this.#receivedBytes + this.#unrecordedBytes + bytes > this.#bytesMax) return false;
    this.#receivedBytes += bytes;
    return true;
  }

  /** Counts the bytes of an exchange that is already accepted and must not fail. */
  addForBody(bytes: number): void {
    this.#receivedBytes += bytes;
  }

  freeBody(bytes: number): void {
    this.#receivedBytes -= bytes;
  }

  /** Returns whether a row of this size fits while the body of `bodyBytes` that the row copies is still held. */
  hasRoomForRow(bytes: number, bodyBytes: number): boolean {
    return this.#receivedBytes - bodyBytes + this.#unrecordedBytes + bytes <= this.#bytesMax;
  }

  addRow(bytes: number): void {
    this.#unrecordedBytes += bytes;
  }

  freeRows(bytes: number): void {
    this.#unrecordedBytes -= bytes;
  }
}
