/**
 * Memory that the gateway holds for callers: heads and bodies of requests, and log rows that wait for the disk. One bound applies to
 * both, because they use the same memory. They are counted separately, because the remedy differs.
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

  /** Rows that wait for the disk use up the budget, not the traffic. */
  get isFullOfRows(): boolean {
    return this.#unrecordedBytes > this.#bytesMax / 2;
  }

  /** Reserves room for a body, or for a head. False: there is none. */
  takeForBody(bytes: number): boolean {
    if (this.#receivedBytes + this.#unrecordedBytes + bytes > this.#bytesMax) return false;
    this.#receivedBytes += bytes;
    return true;
  }

  /** Counts bytes of an exchange that is already accepted and must not fail. */
  addForBody(bytes: number): void {
    this.#receivedBytes += bytes;
  }

  freeBody(bytes: number): void {
    this.#receivedBytes -= bytes;
  }

  /** Whether a row of this size fits while the body that it repeats, of `bodyBytes`, is still held. */
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
