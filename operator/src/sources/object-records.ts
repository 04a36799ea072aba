import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissingFile } from '@standin/contract';
import { replaceFile, replaceFileSync } from '@standin/process/replace-file';
import { z } from 'zod';
import { canonicalJson } from './merge-patch.ts';
import type { ManifestObject } from './manifest-objects.ts';

/** An object's metadata that Kubernetes stores, but that a manifest cannot store. */
const recordSchema = z.strictObject({
  firstSeen: z.iso.datetime(),
  generation: z.number().int().positive(),
  specSha256: z.string(),
  /** Digest of the object's metadata, spec and unknown fields. A change creates a new resourceVersion. */
  objectSha256: z.string(),
  resourceVersion: z.number().int().positive(),
  status: z.unknown().optional(),
});
/**
 * The part of a status that outlives its object. An Account that is added again has its old key, so its regeneration count
 * continues.
 */
const lastingStatus = z.object({ apiKey: z.object({ regenerations: z.array(z.string()) }) });
const goneSchema = z.strictObject({ generation: z.number().int().positive(), status: lastingStatus.optional() });
const fileSchema = z.strictObject({
  version: z.literal(1),
  /** The last assigned resourceVersion. */
  resourceVersion: z.number().int().nonnegative(),
  lastFirstSeen: z.iso.datetime(),
  objects: z.record(z.string(), recordSchema),
  /**
   * Generations of deleted objects, and the lasting part of their statuses. If one of these objects is added again with a different
   * spec, its generation must not start again.
   */
  gone: z.record(z.string(), goneSchema),
});

export type ObjectRecord = Readonly<z.infer<typeof recordSchema>>;

/** Returns the file in the data folder that stores the records of the directory's objects. */
export const objectsFile = (dataDir: string): string => join(dataDir, 'state', 'objects.json');

/** Changes are written together after this time. A crash loses at most the changes since the last write. */
const WRITE_DELAY_MS = 100;
/** Writing many objects is slow, so it is limited to a tenth of the time. */
const WRITE_PAUSE_FACTOR = 10;
const GONE_MAX = 10_000;

const sha256 = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex');

/**
 * Derives a uid from a key, such as kind, namespace and name, so that the uid is the same on every machine and after every start.
 */
export const derivedUid = (key: string): string => {
  const hash = createHash('sha256').update(`standin.dev/${key}`).digest();
  // A UUID of version 8 (RFC 9562: custom content).
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
};

/** The generations, ages and statuses of a directory's objects, in one file in the data folder. */
export class ObjectRecords {
  readonly #path: string;
  readonly #onWriteError: (error: unknown) => void;
  readonly #records = new Map<string, ObjectRecord>();
  readonly #gone = new Map<string, z.infer<typeof goneSchema>>();
  #resourceVersion = 0;
  #lastFirstSeen = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #dirty = false;
  #writeMs = 0;
  #isWriting = false;
  /** The number of synchronous writes. A write that began before the last of them has earlier content. */
  #flushes = 0;

  constructor(path: string, onWriteError: (error: unknown) => void) {
    this.#path = path;
    this.#onWriteError = onWriteError;
  }

  /** Reads the file if it exists. Rejects if it has a different format, because a guess would lose the order of objects. */
  async load(): Promise<void> {
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      if (isMissingFile(error)) return;
      throw error;
    }
    const file = fileSchema.parse(JSON.parse(text));
    this.#resourceVersion = file.resourceVersion;
    this.#lastFirstSeen = Date.parse(file.lastFirstSeen);
    for (const [key, record] of Object.entries(file.objects)) this.#records.set(key, record);
    for (const [key, gone] of Object.entries(file.gone)) this.#gone.set(key, gone);
  }

  get(key: string): ObjectRecord | undefined {
    return this.#records.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#records.keys();
  }

  /** Records an object's content. Returns true if the content is new. */
  see(object: ManifestObject): boolean {
    const { key, metadata, spec, unknownFields } = object;
    const before = this.#records.get(key);
    const gone = this.#gone.get(key);
    const objectSha256 = sha256([metadata, spec, unknownFields]);
    if (before?.objectSha256 === objectSha256) return false;
    const specSha256 = sha256(spec);
    const generation = before?.generation ?? gone?.generation ?? 0;
    this.#gone.delete(key);
    this.#set(key, {
      ...(gone?.status === undefined ? before : { status: gone.status }),
      firstSeen: before?.firstSeen ?? this.#nextFirstSeen(),
      generation: before?.specSha256 === specSha256 ? generation : generation + 1,
      specSha256,
      objectSha256,
      resourceVersion: this.#nextVersion(),
    });
    return true;
  }

  setStatus(key: string, record: ObjectRecord, status: unknown): void {
    this.#set(key, { ...record, status, resourceVersion: this.#nextVersion() });
  }

  forget(key: string): void {
    const record = this.#records.get(key);
    if (record === undefined) return;
    this.#records.delete(key);
    this.#gone.delete(key);
    const { generation } = record;
    const status = lastingStatus.safeParse(record.status).data;
    this.#gone.set(key, { generation, status });
    const oldest = this.#gone.keys().next();
    if (this.#gone.size > GONE_MAX && oldest.done !== true) this.#gone.delete(oldest.value);
    this.#changed();
  }

  /** Writes pending changes synchronously at exit. A write that has begun is given up. Throws if the data folder is not writable. */
  flushSync(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#dirty && !this.#isWriting) return;
    this.#dirty = false;
    this.#flushes += 1;
    replaceFileSync(this.#path, this.#content(), { mode: 0o600 });
  }

  /** Writes pending changes. Rejects if the data folder is not writable. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#writing;
    if (this.#dirty) await this.#write();
  }

  #content(): string {
    const file: z.infer<typeof fileSchema> = {
      version: 1,
      resourceVersion: this.#resourceVersion,
      lastFirstSeen: new Date(this.#lastFirstSeen).toISOString(),
      objects: Object.fromEntries(this.#records),
      gone: Object.fromEntries(this.#gone),
    };
    return JSON.stringify(file);
  }

  #set(key: string, record: ObjectRecord): void {
    this.#records.set(key, record);
    this.#changed();
  }

  #nextVersion(): number {
    this.#resourceVersion += 1;
    return this.#resourceVersion;
  }

  /** Returns a time at least one millisecond after the previous one, so that no two objects have the same age. */
  #nextFirstSeen(): string {
    this.#lastFirstSeen = Math.max(Date.now(), this.#lastFirstSeen + 1);
    return new Date(this.#lastFirstSeen).toISOString();
  }

  #changed(): void {
    this.#dirty = true;
    this.#timer ??= setTimeout(
      () => {
        this.flush().catch((error: unknown) => {
          this.#onWriteError(error);
          // The write is retried with the next change, or at exit.
        });
      },
      Math.max(WRITE_DELAY_MS, this.#writeMs * WRITE_PAUSE_FACTOR),
    );
  }

  async #write(): Promise<void> {
    this.#dirty = false;
    const startedAt = performance.now();
    const flushes = this.#flushes;
    this.#isWriting = true;
    const isCurrent = (): boolean => flushes === this.#flushes;
    const written = replaceFile(this.#path, this.#content(), { mode: 0o600, isCurrent });
    this.#writing = written.catch(() => undefined);
    try {
      await written;
      this.#writeMs = performance.now() - startedAt;
    } catch (error) {
      this.#dirty = true;
      throw error;
    } finally {
      this.#isWriting = false;
    }
  }
}
