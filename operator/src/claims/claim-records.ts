import { createHmac } from 'node:crypto';
import { LIMITS } from '@standin/contract';
import { Turns } from '@standin/kube';
import type { Claim, Holder } from '../translate/index.ts';
import { isOtherVersion, type ClaimStore, type ShardEntries } from './claim-store.ts';

/** A claim of one object. While the object does not claim it, `absentSince` is when this was first seen, in milliseconds since the epoch. */
export interface ClaimRecord extends Holder {
  readonly absentSince: number | undefined;
  /** When another object took the claim over from `former`, in milliseconds since the epoch. */
  readonly formerSince?: number | undefined;
}

interface Shard {
  readonly entries: ReadonlyMap<string, ClaimRecord>;
  /** Undefined if the store does not have the shard. */
  readonly version: string | undefined;
}

/** Collisions are improbable, and only the operator can compute a name. */
const NAME_BYTES = 16;
/** Names that are kept. About 15 MB. */
const NAMES_MAX = 100_000;

/**
 * Returns the name of a claim's record, from which neither the key nor the URI can be computed or verified. Without the installation
 * key, an API key's digest could be compared with the records.
 */
export const recordName = (installationKey: Uint8Array, claim: string): string =>
  createHmac('sha256', installationKey)
    .update(JSON.stringify(['standin claim', claim]))
    .digest()
    .subarray(0, NAME_BYTES)
    .toString('hex');

/** The shards by the first two digits of a name, which must never change: their value, modulo the number of shards. */
const SHARDS = new Map(
  Array.from({ length: 256 }, (_, value) => {
    const shard = value % LIMITS.claimShards;
    return [value.toString(16).padStart(2, '0'), shard.toString().padStart(2, '0')] as const;
  }),
);

/** Returns the shard of a record. */
export const shardName = (name: string): string => SHARDS.get(name.slice(0, 2)) ?? '';

/** Stands for an object that is not absent, in a record with a former one. */
const PRESENT = '-';
const timeText = (time: number | undefined): string => (time === undefined ? PRESENT : new Date(time).toISOString());

/** Formats a record as `UID NAMESPACE`, `UID NAMESPACE ABSENT-SINCE` or `UID NAMESPACE ABSENT-SINCE FORMER FORMER-SINCE`. */
const encodeRecord = ({ uid, namespace, absentSince, former, formerSince }: ClaimRecord): string => {
  if (former !== undefined) return [uid, namespace, timeText(absentSince), former, timeText(formerSince)].join(' ');
  return [uid, namespace, ...(absentSince === undefined ? [] : [timeText(absentSince)])].join(' ');
};

/** Returns undefined if a person has edited the text and it is not a record. */
const decodeRecord = (text: string): ClaimRecord | undefined => {
  const [uid = '', namespace = '', ...more] = text.split(' ');
  const [absent = PRESENT, former, since = PRESENT] = more;
  const [absentSince, formerSince] = [absent, since].map((time) => (time === PRESENT ? undefined : Date.parse(time)));
  if (uid === '' || namespace === '' || Number.isNaN(absentSince) || Number.isNaN(formerSince)) return undefined;
  return { uid, namespace, absentSince, ...(former !== undefined && { former, formerSince }) };
};

const recordsIn = (entries: ShardEntries): ReadonlyMap<string, ClaimRecord> =>
  new Map(
    [...entries].flatMap(([name, text]) => {
      const record = decodeRecord(text);
      return record === undefined ? [] : [[name, record] as const];
    }),
  );

/** Returns the record without its former object if that lost the claim too long ago. */
const withoutLapsed = (record: ClaimRecord, now: number): ClaimRecord => {
  if (record.former === undefined || now - (record.formerSince ?? now) < LIMITS.claimKeptMs) return record;
  const { uid, namespace, absentSince } = record;
  return { uid, namespace, absentSince };
};

/**
 * Returns the former object of a claim that `holder` gets. If several objects of a namespace take the claim over from each other, it is
 * the first one, so that the namespace cannot make the records forget it.
 */
const takenOver = (
  before: ClaimRecord | undefined,
  holder: Holder,
  now: number,
): Pick<ClaimRecord, 'former' | 'formerSince'> => {
  if (before?.namespace !== holder.namespace) return {};
  const { former = before.uid, formerSince = now } = before;
  return former === holder.uid ? {} : { former, formerSince };
};

/** The changes of records, by name. Undefined removes a record. */
export type RecordChanges = ReadonlyMap<string, ClaimRecord | undefined>;

/**
 * Returns how the records change with time. A record whose object no longer claims it is marked, kept for `claimKeptMs`, and then
 * removed. A former object is removed from its record after the same time. If a namespace has more than
 * `absentClaimsPerNamespaceMax` marked records, the oldest are removed earlier, but never before a second sweep, because objects may be
 * absent only for a moment.
 *
 * @param claimed the names of the records whose object claims them
 */
export const planSweep = (
  records: Iterable<readonly [name: string, record: ClaimRecord]>,
  claimed: ReadonlySet<string>,
  now: number,
): Map<string, ClaimRecord | undefined> => {
  const changes = new Map<string, ClaimRecord | undefined>();
  const absent: (readonly [name: string, record: ClaimRecord, since: number])[] = [];
  for (const [name, before] of records) {
    const record = withoutLapsed(before, now);
    const { absentSince } = record;
    if (!claimed.has(name)) absent.push([name, record, absentSince ?? now]);
    else if (absentSince !== undefined || record !== before) changes.set(name, { ...record, absentSince: undefined });
  }
  const byNamespace = Map.groupBy(absent, ([, { namespace }]) => namespace);
  for (const group of byNamespace.values()) {
    group.sort(([, , a], [, , b]) => b - a);
    for (const [index, [name, record, since]] of group.entries()) {
      const isKept = index < LIMITS.absentClaimsPerNamespaceMax && now - since < LIMITS.claimKeptMs;
      if (record.absentSince === undefined) changes.set(name, { ...record, absentSince: since });
      else if (!isKept) changes.set(name, undefined);
    }
  }
  return changes;
};

/**
 * The records of claims, as last read or written. Each write is a compare-and-swap with the version on which the change was decided,
 * so a former leader cannot record a claim for a second object.
 */
export class ClaimRecords {
  readonly #store: ClaimStore;
  readonly #key: Uint8Array;
  readonly #shards: Map<string, Shard>;
  /** The translator looks each claim up several times, and computing a name takes longer than the rest of an evaluation. */
  readonly #names = new Map<string, string>();
  #isReread = false;

  private constructor(store: ClaimStore, key: Uint8Array, shards: Map<string, Shard>) {
    this.#store = store;
    this.#key = key;
    this.#shards = shards;
  }

  /** Reads all records, bypassing all caches. */
  static async read(store: ClaimStore, installationKey: Uint8Array): Promise<ClaimRecords> {
    const stored = await store.list();
    const shards = Array.from(
      stored,
      ([shard, { entries, version }]) => [shard, { entries: recordsIn(entries), version }] as const,
    );
    return new ClaimRecords(store, installationKey, new Map(shards));
  }

  recordName(claim: string): string {
    const known = this.#names.get(claim);
    if (known !== undefined) return known;
    if (this.#names.size >= NAMES_MAX) this.#names.clear();
    const name = recordName(this.#key, claim);
    this.#names.set(claim, name);
    return name;
  }

  /** Computes the names of claims, of which there may be more than are kept, in several turns of the event loop. */
  async names(claims: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    const turns = new Turns();
    const names = new Map<string, string>();
    for (const claim of claims) {
      await turns.pause();
      names.set(claim, this.recordName(claim));
    }
    return names;
  }

  get(claim: string): ClaimRecord | undefined {
    return this.named(this.recordName(claim));
  }

  /** Returns the record with this name. */
  named(name: string): ClaimRecord | undefined {
    return this.#shards.get(shardName(name))?.entries.get(name);
  }

  *entries(): Iterable<readonly [name: string, record: ClaimRecord]> {
    for (const { entries } of this.#shards.values()) yield* entries;
  }

  /** The number of records. */
  get size(): number {
    let size = 0;
    for (const { entries } of this.#shards.values()) size += entries.size;
    return size;
  }

  /** Returns whether records were read again since the last call, because another process changed them. Any of them may differ. */
  takeReread(): boolean {
    const isReread = this.#isReread;
    this.#isReread = false;
    return isReread;
  }

  /** Records claims for the objects in them. Resolves with false if records were changed by another process, and read again. */
  record(claims: Iterable<Claim>, now: number): Promise<boolean> {
    const records = Array.from(claims, ({ claim, uid, namespace }) => {
      const former = takenOver(this.get(claim), { uid, namespace }, now);
      return [this.recordName(claim), { uid, namespace, absentSince: undefined, ...former }] as const;
    });
    return this.write(new Map(records));
  }

  /**
   * Writes the changed shards. Resolves with false if one of them was changed by another process. In this case, that shard has been
   * read again, and the caller must decide again. Settles when no shard is being written any more.
   */
  async write(changes: RecordChanges): Promise<boolean> {
    const byShard = Map.groupBy(changes, ([name]) => shardName(name));
    const turns = new Turns();
    const writes: Promise<boolean>[] = [];
    for (const [shard, changed] of byShard) {
      const write = this.#writeShard(shard, changed);
      write.catch(() => undefined);
      writes.push(write);
      await turns.pause();
    }
    await Promise.allSettled(writes);
    return (await Promise.all(writes)).every(Boolean);
  }

  async #writeShard(
    shard: string,
    changes: readonly (readonly [name: string, record: ClaimRecord | undefined])[],
  ): Promise<boolean> {
    const { entries: before, version } = this.#shards.get(shard) ?? {
      entries: new Map<string, ClaimRecord>(),
      version: undefined,
    };
    const entries = new Map(before);
    for (const [name, record] of changes) {
      if (record === undefined) entries.delete(name);
      else entries.set(name, record);
    }
    const texts = new Map(Array.from(entries, ([name, record]) => [name, encodeRecord(record)]));
    try {
      this.#shards.set(shard, { entries, version: await this.#store.write(shard, texts, version) });
      return true;
    } catch (error) {
      if (!isOtherVersion(error)) throw error;
      const stored = await this.#store.read(shard);
      this.#isReread = true;
      // A shard that someone deleted is written again with the next change.
      this.#shards.set(
        shard,
        stored === undefined
          ? { entries: before, version: undefined }
          : { entries: recordsIn(stored.entries), version: stored.version },
      );
      return false;
    }
  }
}
