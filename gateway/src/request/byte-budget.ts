import { SharedPool } from '@standin/contract';

/** Rows that wait for the disk belong to no namespace. */
const ROWS = '';

/**
 * The memory that the gateway holds for callers: request heads and bodies, responses, and log rows that wait for the disk. All of them
 * share one limit because they use the same memory, and each namespace has a share of it. Rows are counted separately because requests
 * are refused with a different code if rows cause the shortage.
 */
export class ByteBudget extends SharedPool {
  get receivedBytes(): number {
    return this.used - this.unrecordedBytes;
  }

  get unrecordedBytes(): number {
    return this.heldBy(ROWS);
  }

  /** Whether rows that wait for the disk use more than half of the budget, so that they rather than traffic cause a shortage. */
  get isFullOfRows(): boolean {
    return this.unrecordedBytes > this.capacity / 2;
  }

  /**
   * Returns whether a row of this size fits. Disregards `copiedBytes`, the parts of the exchange that are still held, because the row
   * contains a copy of them.
   */
  hasRoomForRow(bytes: number, copiedBytes: number): boolean {
    return this.used - copiedBytes + bytes <= this.capacity;
  }

  /** Adds the bytes of a row that waits for the disk. */
  addRow(bytes: number): void {
    this.add(ROWS, bytes);
  }

  freeRows(bytes: number): void {
    this.free(ROWS, bytes);
  }
}
