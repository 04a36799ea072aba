import { Piscina } from 'piscina';
import type { Logger } from 'pino';
import type * as texts from './add-body-texts.ts';
import type { StoredBatch } from './read-segment.ts';

/** How long an idle thread is kept, because starting one takes 250 ms. */
const IDLE_MS = 60_000;
/** The memory for headers and strings. Bodies and texts, which are not part of it, are limited by the size of a segment and its texts. */
const HEAP_MIB_MAX = 128;

/** Adds the texts of bodies to rows in a thread, which is started on demand. */
export class BodyTextWorker {
  readonly #logger: Logger;
  #pool: Piscina<texts.BodyTextInput, Uint8Array<ArrayBuffer>> | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** See `addBodyTexts`. Resolves with undefined if the thread fails, so that the rows are delivered without texts. */
  async add({ rows, ends, withText }: StoredBatch): Promise<Buffer | undefined> {
    this.#pool ??= new Piscina({
      filename: new URL('./add-body-texts.ts', import.meta.url).href,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
      recordTiming: false,
    });
    const copy = new Uint8Array(rows);
    const name: keyof typeof texts = 'addBodyTexts';
    try {
      const result = await this.#pool.run({ rows: copy, ends, withText }, { name, transferList: [copy.buffer] });
      return Buffer.from(result.buffer, result.byteOffset, result.length);
    } catch (error) {
      this.#logger.error({ err: error, rows: ends.length }, 'could not decode bodies, inserting rows without texts');
      return undefined;
    }
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    await this.#pool?.destroy();
  }
}
