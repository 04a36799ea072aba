import type { LogRow } from '@standin/contract';
import { encodeRow } from '@standin/logstore';
import type { ByteBudget } from '../receive/byte-budget.ts';
import type { Recorder } from './recorder.ts';

export interface MemoryRecorderOptions {
  readonly budget: ByteBudget;
  /** Takes over a row, encoded; its bytes are in the budget and freed by whoever delivers it. */
  readonly deliver: (row: Buffer) => void;
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

  constructor(options: MemoryRecorderOptions) {
    this.#options = options;
  }

  request(row: LogRow): Promise<boolean> {
    if (this.#options.budget.isFull) return NO;
    this.#begun.set(row.id, row);
    return YES;
  }

  exchange(row: LogRow): Promise<boolean> {
    const { budget } = this.#options;
    const wasBegun = this.#begun.delete(row.id);
    const encoded = encodeRow(row);
    if (!wasBegun && !budget.hasRoomForRow(encoded.length, row.requestBody.length)) return NO;
    this.#deliver(encoded);
    return YES;
  }

  close(): Promise<void> {
    for (const row of this.#begun.values()) this.#deliver(encodeRow(row));
    this.#begun.clear();
    return Promise.resolve();
  }

  #deliver(encoded: Buffer): void {
    this.#options.budget.addRow(encoded.length);
    this.#options.deliver(encoded);
  }
}
