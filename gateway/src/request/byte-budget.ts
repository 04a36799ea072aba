/**
 * Memory for what the gateway holds on behalf of callers: bodies that are being received, and log rows on their way to the disk.
 * One bound over both, because both are the same memory; counted apart, because the remedy differs.
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

  /** The disk, not the traffic, is what fills it. */
  get isFullOfRows(): boolean {
    return this.#unrecordedBytes > this.#bytesMax / 2;
  }

  /** Makes room for a body, unless there is none. */
  takeForBody(bytes: number): boolean {
    if (this.#receivedBytes + this.#unrecordedBytes + bytes > this.#bytesMax) return false;
    this.#receivedBytes += bytes;
    return true;
  }

  /** Counts bytes of an exchange that was accepted already: it must not fail any more. */
  addForBody(bytes: number): void {
    this.#receivedBytes += bytes;
  }

  freeBody(bytes: number): void {
    this.#receivedBytes -= bytes;
  }

  /** Whether a row of this size may be added while the body it repeats, of `bodyBytes`, is still held. */
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
