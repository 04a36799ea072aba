import { SourceError, type Kind, type ResourceObject } from '@standin/contract';
import type { IdentityStore, StoredIdentities } from './identity-secrets.ts';
import { movedKey, type Assertion, type Installation } from './resolve-identity.ts';

/** The Secrets of all namespaces, in memory. */
export class MemoryIdentities implements IdentityStore {
  readonly namespaces = new Map<string, ReadonlyMap<string, string>>();
  installationKey: Uint8Array = Buffer.alloc(32, 1);
  readonly epochs = new Map<string, number>();
  reads = 0;
  writes = 0;
  /** The objects that exist. */
  objects: () => readonly ResourceObject[] = () => [];
  /** The arguments of `uids`. */
  readonly lists: (readonly [kind: Kind, namespace: string, names: readonly string[]])[] = [];
  /** Called before each read and write, and before `uids`. May throw or wait. */
  disturb: (call: 'read' | 'uids' | 'write' | 'raiseEpoch') => void | Promise<void> = () => undefined;

  installation(): Promise<Installation> {
    return Promise.resolve({ key: this.installationKey, epochs: this.epochs });
  }

  async raiseEpoch(kind: Kind, { id, epoch }: Assertion): Promise<void> {
    await this.disturb('raiseEpoch');
    this.epochs.set(movedKey(kind, id), epoch);
  }

  async read(namespace: string): Promise<StoredIdentities> {
    this.reads += 1;
    await this.disturb('read');
    return { entries: this.namespaces.get(namespace) ?? new Map(), secret: undefined };
  }

  async uids(kind: Kind, namespace: string, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    this.lists.push([kind, namespace, names]);
    await this.disturb('uids');
    const found = this.objects().filter((object) => object.kind === kind && object.metadata.namespace === namespace);
    return new Map(found.map(({ metadata }) => [metadata.name, metadata.uid]));
  }

  async write(namespace: string, before: StoredIdentities, entries: ReadonlyMap<string, string>): Promise<void> {
    await this.disturb('write');
    const current = this.namespaces.get(namespace);
    if (current !== undefined && current !== before.entries) throw new SourceError('Conflict', 'the Secret changed');
    if (current === undefined && before.entries.size > 0) throw new SourceError('Conflict', 'the Secret was deleted');
    this.writes += 1;
    this.namespaces.set(namespace, entries);
  }
}
