import type { LedgerStore, ListedLedger, StoredLedger } from './ledger-store.ts';
import type { Ledger } from './ledger.ts';

/** Ledgers in memory, with compare-and-swap like the real ones. */
export class MemoryLedgers implements LedgerStore {
  readonly ledgers = new Map<string, StoredLedger>();
  readonly writes: Ledger[] = [];
  /** Called before and after each write. May throw or wait. */
  disturb: (when: 'before' | 'after') => void | Promise<void> = () => undefined;
  #versions = 0;

  read(accountUid: string): Promise<StoredLedger | undefined> {
    return Promise.resolve(this.ledgers.get(accountUid));
  }

  async write(accountUid: string, ledger: Ledger, version: string | undefined): Promise<string> {
    await this.disturb('before');
    if (this.ledgers.get(accountUid)?.version !== version) throw new Error('conflict');
    const stored = { ledger, version: String(++this.#versions) };
    this.ledgers.set(accountUid, stored);
    this.writes.push(ledger);
    await this.disturb('after');
    return stored.version;
  }

  list(): Promise<ListedLedger[]> {
    return Promise.resolve([...this.ledgers]);
  }

  remove(accountUid: string, version: string): Promise<void> {
    if (this.ledgers.get(accountUid)?.version === version) this.ledgers.delete(accountUid);
    return Promise.resolve();
  }
}
