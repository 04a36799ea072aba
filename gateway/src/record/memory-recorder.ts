import type { LogRow } from '@standin/contract';
import { putRow, rowSize } from '@standin/logstore';
import type { ByteBudget } from '../receive/byte-budget.ts';
import type { Recorder } from './recorder.ts';

export interface MemoryRecorderOptions {
  readonly budget: ByteBudget;
  /** Takes over a row of this size, which it has written into its own memory, and counts it in the budget until it is delivered. */
  readonly deliver: (rowBytes: number, put: (block: Buffer, offset: number) => void) => void;
}

const YES = Promise.resolve(true);
const NO = Promise.resolve(false);

/**
 * Keeps rows in memory until they are delivered, within the byte budget: survives an absence of ClickHouse, not the end of the
 * process.
 */
export class MemoryRecorder implements Recorder {
  readonly #options: MemoryRecorderOptions;
  readonly #begun = new Map<string, LogRow>();
  #isClosed = false;

  constructor(options: MemoryRecorderOptions) {
    this.#options = options;
  }

  request(row: LogRow): Promise<boolean> {
    if (this.#isClosed || this.#options.budget.isFull) return NO;
    this.#begun.set(row.id, row);
    return YES;
  }

  exchange(row: LogRow): Promise<boolean> {
    if (this.#isClosed) return NO;
    const { budget } = this.#options;
    const wasBegun = this.#begun.delete(row.id);
    const rowBytes = rowSize(row);
    if (!wasBegun && !budget.hasRoomForRow(rowBytes, row.requestBody.length)) return NO;
    this.#deliver(row, rowBytes);
    return YES;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const row of this.#begun.values()) this.#deliver(row, rowSize(row));
    this.#begun.clear();
    return Promise.resolve();
  }

  #deliver(row: LogRow, rowBytes: number): void {
    this.#options.deliver(rowBytes, (block, offset) => putRow(block, row, offset));
  }
}
