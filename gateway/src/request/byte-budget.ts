import { SharedPool } from '@standin/contract';

/** Rows that wait for the disk belong to no namespace. */
const ROWS = '';

/**
 * The memory that the gateway holds for callers: request heads and bodies, responses, and log rows that wait for the disk. All of them
 * share one limit because they use the same memory, and each namespace has a share of it. Rows are counted separately because requests
 * are refused with a different code if rows cause the shortage.
 */
export class ByteBudget {
  readonly pool: SharedPool;

  constructor(bytesMax: number) {
    this.pool = new SharedPool(bytesMax);
  }

  get receivedBytes(): number {
    return this.pool.used - this.unrecordedBytes;
  }

  get unrecordedBytes(): number {
    return this.pool.heldBy(ROWS);
  }

  /** Whether rows that wait for the disk use more than half of the budget, so that they rather than traffic cause a shortage. */
  get isFullOfRows(): boolean {
    return this.unrecordedBytes > this.pool.capacity / 2;
  }

  /** Reserves bytes for a request to a namespace. Returns false if the namespace's share is used up. */
  take(namespace: string, bytes: number): boolean {
    return this.pool.take(namespace, bytes);
  }

  /** Adds bytes of an accepted exchange even if there is no room, because an accepted exchange must not fail. */
  add(namespace: string, bytes: number): void {
    this.pool.add(namespace, bytes);
  }

  free(namespace: string, bytes: number): void {
    this.pool.free(namespace, bytes);
  }

  /**
   * Returns whether a row of this size fits. Disregards `copiedBytes`, the parts of the exchange that are still held, because the row
   * contains a copy of them.
   */
  hasRoomForRow(bytes: number, copiedBytes: number): boolean {
    return this.pool.used - copiedBytes + bytes <= this.pool.capacity;
  }

  addRow(bytes: number): void {
    this.pool.add(ROWS, bytes);
  }

  freeRows(bytes: number): void {
    this.pool.free(ROWS, bytes);
  }
}
