import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomic, writeFileAtomicSync } from './atomic-write.ts';
import { canonicalJson } from './merge-patch.ts';
import type { ManifestObject } from './manifest-objects.ts';

/** What Kubernetes would keep about an object and a file cannot. */
const recordSchema = z.strictObject({
  firstSeen: z.iso.datetime(),
  generation: z.number().int().positive(),
  specSha256: z.string(),
  /** Of everything in the file; a change of it is a new resourceVersion. */
  objectSha256: z.string(),
  resourceVersion: z.number().int().positive(),
  status: z.unknown().optional(),
});
/** What of a status outlives its object: an Account that comes back has its key again, so this counts on how often that was replaced. */
const lastingStatus = z.object({ apiKey: z.object({ regenerations: z.array(z.string()) }) });
const goneSchema = z.union([
  z.number().int().positive(),
  z.strictObject({ generation: z.number().int().positive(), status: lastingStatus }),
]);
const fileSchema = z.strictObject({
  version: z.literal(1),
  /** Last resourceVersion given out. */
  resourceVersion: z.number().int().nonnegative(),
  lastFirstSeen: z.iso.datetime(),
  objects: z.record(z.string(), recordSchema),
  /** Generations of objects that are gone: should one come back, its generation must not begin again with another spec. */
  gone: z.record(z.string(), goneSchema),
});

export type ObjectRecord = Readonly<z.infer<typeof recordSchema>>;

/** In the data folder, for the objects of the directory. */
export const objectsFile = (dataDir: string): string => join(dataDir, 'state', 'objects.json');

/** Changes are written together after this time; a crash loses that much of the statuses, which are derived. */
const WRITE_DELAY_MS = 100;
/** With very many objects writing takes long: it may take a tenth of the time. */
const WRITE_PAUSE_FACTOR = 10;
const GONE_MAX = 10_000;

const sha256 = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex');

/** The same object has the same uid on every machine and after every start: it derives from its kind, namespace and name. */
export const uidOf = (key: string): string => {
  const hash = createHash('sha256').update(`standin.dev/${key}`).digest();
  // A UUID of version 8 (RFC 9562: content of one's own choosing).
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
};

/** Generations, order of first sight and status of the objects of a directory, kept in one file of the data folder. */
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

  constructor(path: string, onWriteError: (error: unknown) => void) {
    this.#path = path;
    this.#onWriteError = onWriteError;
  }

  /** Reads the file, if there is one. Throws when it is not ours: guessing would forget who came first. */
  async load(): Promise<void> {
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
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

  /** Notes what a file says of an object; true if that is new. */
  see(object: ManifestObject): boolean {
    const { key, metadata, spec, unknownFields } = object;
    const before = this.#records.get(key);
    const gone = this.#gone.get(key) ?? 0;
    const objectSha256 = sha256([metadata, spec, unknownFields]);
    if (before?.objectSha256 === objectSha256) return false;
    const specSha256 = sha256(spec);
    const generation = before?.generation ?? (typeof gone === 'number' ? gone : gone.generation);
    this.#gone.delete(key);
    this.#set(key, {
      ...(typeof gone === 'number' ? before : { status: gone.status }),
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
    this.#gone.set(key, status === undefined ? generation : { generation, status });
    const oldest = this.#gone.keys().next();
    if (this.#gone.size > GONE_MAX && oldest.done !== true) this.#gone.delete(oldest.value);
    this.#changed();
  }

  /** At the end of the process, which does not wait. Throws when the data folder refuses it. */
  flushSync(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#dirty) return;
    this.#dirty = false;
    writeFileAtomicSync(this.#path, this.#content(), { mode: 0o600 });
  }

  /** Writes what is not yet written. Rejects when the data folder refuses it. */
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

  /** One millisecond later than the one before: no two objects are of the same age. */
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
          // Tried again with the next change, or at the end.
        });
      },
      Math.max(WRITE_DELAY_MS, this.#writeMs * WRITE_PAUSE_FACTOR),
    );
  }

  async #write(): Promise<void> {
    this.#dirty = false;
    const startedAt = performance.now();
    const written = writeFileAtomic(this.#path, this.#content(), { mode: 0o600 });
    this.#writing = written.catch(() => undefined);
    try {
      await written;
      this.#writeMs = performance.now() - startedAt;
    } catch (error) {
      this.#dirty = true;
      throw error;
    }
  }
}
