/**
 * The memory that the gateway holds for callers: request heads and bodies, captured response bodies, and log rows that wait for the
 * disk. All of them share one limit because they use the same memory. Rows are counted separately because requests are refused with
 * a different code if rows cause the shortage.
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

  /** Adds bytes of an accepted exchange even if there is no room, because an accepted exchange must not fail. */
  addForBody(bytes: number): void {
    this.#receivedBytes += bytes;
  }

  freeBody(bytes: number): void {
    this.#receivedBytes -= bytes;
  }

  /**
   * Returns whether a row of this size fits. Disregards the request body of `bodyBytes`, which is still held, because the row
   * contains a copy of it.
   */
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
