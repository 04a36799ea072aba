import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { formatRevision, isMissingFile, parseRevision, type Revision, type StreamMessage } from '@standin/contract';
import { replaceFile, syncFolder } from '@standin/process/replace-file';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { TableEntry } from '../match/routing-table.ts';
import type { ConfigStore } from './config-store.ts';

/** How long after a change the copy is written. Changes within this time are written together. */
const DEBOUNCE_MS = 1_000;
/**
 * After a write, the next one waits until this many times its duration has passed. Otherwise, an Account whose key changes all the time
 * would keep the disk and the processor busy with copies of the configuration of all Accounts.
 */
const REST_FACTOR = 9;
/** Acknowledgements of revocations wait as well, and must not come later than those of heartbeats. */
const REST_MS_MAX = 1_000;
/** The length of the text in one write to the file, which its last line may exceed. V8 frees longer strings late. */
const WRITE_LENGTH = 65_536;

const FILE_NAME = 'config.ndjson';

const beginLine = z.object({ type: z.literal('begin'), revision: z.string() });
const putLine = z.object({ type: z.literal('put'), object: z.unknown() });
const commitLine = z.object({ type: z.literal('commit'), revision: z.string() });

/** The configuration in the file. */
interface StoredConfig {
  readonly revision: Revision;
  /** Parsed one by one. Throws if a line is not valid. */
  readonly objects: Iterable<unknown>;
}

const LINE_END = 0x0a;

/** Yields lines as text. The file as a whole may be longer than a string can be. */
function* linesIn(bytes: Buffer): Generator<string> {
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(LINE_END, from);
    const to = end < 0 ? bytes.length : end;
    yield bytes.toString('utf8', from, to);
    from = to + 1;
  }
}

function* objectsIn(bytes: Buffer): Generator {
  for (const line of linesIn(bytes)) yield putLine.parse(JSON.parse(line)).object;
}

const parseCopy = (bytes: Buffer): StoredConfig | undefined => {
  const firstEnd = bytes.indexOf(LINE_END);
  const lastStart = bytes.lastIndexOf(LINE_END, bytes.length - 2) + 1;
  if (firstEnd < 0 || lastStart === 0) return undefined;
  const begin = beginLine.safeParse(JSON.parse(bytes.toString('utf8', 0, firstEnd)));
  const commit = commitLine.safeParse(JSON.parse(bytes.toString('utf8', lastStart)));
  if (!begin.success || !commit.success || begin.data.revision !== commit.data.revision) return undefined;
  return { revision: parseRevision(begin.data.revision), objects: objectsIn(bytes.subarray(firstEnd + 1, lastStart)) };
};

/** Encodes `objects`, which were all read at the same time, over several turns of the event loop. */
function* lines(revision: string, objects: readonly TableEntry[]): Generator<string> {
  yield JSON.stringify({ type: 'begin', revision, snapshot: true } satisfies StreamMessage);
  for (const object of objects) yield `{"type":"put","object":${objectAsJson(object)}}`;
  yield JSON.stringify({ type: 'commit', revision } satisfies StreamMessage);
}

export const objectAsJson = (entry: TableEntry): string =>
  entry.kind === 'Endpoint' ? new TextDecoder().decode(entry.json) : JSON.stringify(entry.config);

/** A write that later calls of `flush` join. Otherwise, writes would queue up when changes come faster than they are written. */
interface PendingWrite {
  /** Whether the old copy is removed if it cannot be replaced. */
  isRequired: boolean;
  readonly done: Promise<boolean>;
}

/**
 * The copy of the configuration that a gateway starts with if no operator responds. The copy is one snapshot of the config stream,
 * as NDJSON. The copy contains key digests and mocks, so only the file's owner may read it. The file is replaced as a whole, so it
 * is never partial.
 */
export class DiskCopy {
  readonly #path: string;
  readonly #store: ConfigStore;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<boolean> = Promise.resolve(true);
  /** The write that waits for the one before, or rests. Undefined as soon as it reads the configuration. */
  #next: PendingWrite | undefined;
  /** When the next write may begin, on the clock of `performance.now`. */
  #restsUntilMs = 0;
  readonly #discarded = new AbortController();

  constructor(dataDir: string, store: ConfigStore, logger: Logger) {
    this.#path = join(dataDir, FILE_NAME);
    this.#store = store;
    this.#logger = logger;
  }

  /** Activates the copy. Returns false if there is no copy or if the copy cannot be read. */
  async restore(): Promise<boolean> {
    try {
      const copy = parseCopy(await readFile(this.#path));
      if (copy === undefined) throw new Error('the file is not a complete snapshot');
      this.#store.restore(copy.revision, copy.objects);
      this.#logger.info({ path: this.#path, revision: formatRevision(copy.revision) }, 'configuration read from disk');
      return true;
    } catch (error) {
      if (!isMissingFile(error))
        this.#logger.error({ path: this.#path, err: error }, 'could not read the configuration copy on disk');
      return false;
    }
  }

  /** Schedules a write because the configuration has changed. */
  schedule(): void {
    if (!this.#discarded.signal.aborted) this.#timer ??= setTimeout(() => void this.flush(), DEBOUNCE_MS);
  }

  /**
   * Returns true if nothing older than the current configuration is on disk. With `isRequired`, as after a revocation,
   * removes the old copy if it cannot be replaced. A gateway that starts without a copy waits for the operator, while a
   * gateway with the old copy would accept a revoked key.
   */
  flush({ isRequired = false } = {}): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#next ??= this.#enqueue();
    this.#next.isRequired ||= isRequired;
    return this.#next.done;
  }

  #enqueue(): PendingWrite {
    const pending: PendingWrite = {
      isRequired: false,
      done: this.#writing.then(async () => (await this.#write()) || (pending.isRequired && (await this.#remove()))),
    };
    this.#writing = pending.done;
    return pending;
  }

  /**
   * Removes the copy and stops writing it. Returns false if it may still exist. The operator does not wait for a
   * stopped gateway, so a gateway must not start again from a copy that contains keys which were revoked after it stopped.
   */
  discard(): Promise<boolean> {
    this.#discarded.abort();
    return this.flush({ isRequired: true });
  }

  async #write(): Promise<boolean> {
    const { signal } = this.#discarded;
    await delay(Math.max(0, this.#restsUntilMs - performance.now()), undefined, { signal }).catch(() => undefined);
    this.#next = undefined;
    if (signal.aborted) return false;
    const startedAt = performance.now();
    const revision = formatRevision(this.#store.revision);
    const objects = this.#store.objects();
    try {
      await replaceFile(this.#path, blocks(lines(revision, objects)), { mode: 0o600 });
      return true;
    } catch (error) {
      this.#logger.error({ path: this.#path, err: error }, 'could not write the configuration copy');
      return false;
    } finally {
      const endedAt = performance.now();
      this.#restsUntilMs = endedAt + Math.min(REST_MS_MAX, REST_FACTOR * (endedAt - startedAt));
    }
  }

  async #remove(): Promise<boolean> {
    try {
      await rm(this.#path, { force: true });
      await syncFolder(dirname(this.#path));
      this.#logger.info({ path: this.#path }, 'configuration copy removed from disk');
      return true;
    } catch (error) {
      // Neither the copy nor its folder exists, so there is nothing to remove.
      if (isMissingFile(error)) return true;
      this.#logger.error(
        { path: this.#path, err: error },
        'could not remove the configuration copy, which may contain a revoked key',
      );
      return false;
    }
  }
}

/** Joins many lines into each block, so that each block is one write. */
function* blocks(all: Iterable<string>): Generator<string> {
  let block = '';
  for (const line of all) {
    block += `${line}\n`;
    if (block.length < WRITE_LENGTH) continue;
    yield block;
    block = '';
  }
  yield block;
}
