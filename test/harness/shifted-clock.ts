import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTempFolder } from './temp-folder.ts';

const PRELOAD = path.join(import.meta.dirname, 'shift-clock.ts');

/** The wall clock of processes under test. Tests can set it while the processes run. */
export class ShiftedClock implements AsyncDisposable {
  /** The environment variables of the processes that use this clock. */
  readonly env: Readonly<Record<string, string>>;
  readonly #folder: string;
  readonly #file: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#file = path.join(folder, 'offset');
    this.env = { NODE_OPTIONS: `--import=${PRELOAD}`, TEST_CLOCK_FILE: this.#file };
  }

  /** Creates a clock, which is initially correct. */
  static async create(): Promise<ShiftedClock> {
    const clock = new ShiftedClock(await createTempFolder('clock'));
    await clock.set(0);
    return clock;
  }

  /** Sets the offset from the real time, which the processes use within a tenth of a second. */
  async set(offsetMs: number): Promise<void> {
    await writeFile(`${this.#file}.new`, String(offsetMs));
    await rename(`${this.#file}.new`, this.#file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
