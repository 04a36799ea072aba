import { EventEmitter, once } from 'node:events';
import type { BodyTexts, LogRow } from '@standin/contract';
import { decodeBodyTexts, decodeRow, RowBinaryReader, type InsertBatch } from '@standin/logstore';
import type { LogSink } from './log-sink.ts';

/** An in-memory log that decodes its batches and fails on demand. */
export class MemorySink implements LogSink {
  readonly rows: LogRow[] = [];
  /** The texts of the rows that have them, by id. */
  readonly texts = new Map<string, BodyTexts>();
  readonly attempts: InsertBatch[] = [];
  /** Called for each insert. The insert waits for the returned promise, and fails if this function throws or rejects. */
  onInsert: ((batch: InsertBatch) => unknown) | undefined;
  isClosed = false;
  readonly #events = new EventEmitter();
  readonly #tokens = new Set<string>();

  migrate(): Promise<void> {
    return Promise.resolve();
  }

  async insert(batch: InsertBatch): Promise<void> {
    this.attempts.push({ ...batch, rows: Buffer.from(batch.rows) });
    try {
      await this.onInsert?.(batch);
    } catch (error) {
      this.#events.emit('change');
      throw error;
    }
    if (!this.#tokens.has(batch.token)) {
      this.#tokens.add(batch.token);
      const reader = new RowBinaryReader(Buffer.from(batch.rows));
      while (!reader.done) {
        const row = decodeRow(reader);
        this.rows.push(row);
        if (batch.hasTexts === true) this.texts.set(row.id, decodeBodyTexts(reader));
      }
    }
    this.#events.emit('change');
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }

  /** Resolves when the condition holds. */
  async until(condition: (sink: this) => boolean): Promise<void> {
    while (!condition(this)) await once(this.#events, 'change');
  }
}
