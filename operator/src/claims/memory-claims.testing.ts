import { SourceError } from '@standin/contract';
import type { ClaimStore, ShardEntries, StoredShard } from './claim-store.ts';

/** The records of claims in memory, with compare-and-swap like the real ones. */
export class MemoryClaims implements ClaimStore {
  readonly shards = new Map<string, StoredShard>();
  writes = 0;
  /** Called before and after each write. May throw or wait. */
  disturb: (when: 'before' | 'after', shard: string) => void | Promise<void> = () => undefined;
  #versions = 0;

  /** Returns the texts of all records. */
  texts(): readonly string[] {
    return [...this.shards.values()].flatMap(({ entries }) => [...entries.values()]);
  }

  list(): Promise<ReadonlyMap<string, StoredShard>> {
    return Promise.resolve(new Map(this.shards));
  }

  read(shard: string): Promise<StoredShard | undefined> {
    return Promise.resolve(this.shards.get(shard));
  }

  async write(shard: string, entries: ShardEntries, version: string | undefined): Promise<string> {
    await this.disturb('before', shard);
    const stored = this.shards.get(shard);
    if (stored === undefined && version !== undefined) throw new SourceError('NotFound', 'the shard was deleted');
    if (stored?.version !== version) throw new SourceError('Conflict', 'the shard changed');
    this.writes += 1;
    const written = String(++this.#versions);
    this.shards.set(shard, { entries, version: written });
    await this.disturb('after', shard);
    return written;
  }
}
