import {
  configKey,
  formatRevision,
  type ConfigKey,
  type ConfigObject,
  type Revision,
  type StreamMessage,
} from '@standin/contract';

/** Complete NDJSON lines, each with its line break, that form one transaction. */
export type Transaction = readonly string[];

export interface ConfigChanges {
  readonly put: readonly ConfigObject[];
  readonly remove: readonly ConfigKey[];
}

interface Entry {
  readonly line: string;
  /** Number of the revision that put the object. */
  readonly since: number;
}

const line = (message: StreamMessage): string => `${JSON.stringify(message)}\n`;

/** The configuration in one leader's term, as revisions. Each object is serialized once for all gateways. */
export class ConfigLog {
  readonly #epoch: number;
  readonly #entries = new Map<ConfigKey, Entry>();
  readonly #followers = new Set<(transaction: Transaction) => void>();
  #number = 0;

  constructor(epoch: number) {
    this.#epoch = epoch;
  }

  get revision(): Revision {
    return { epoch: this.#epoch, number: this.#number };
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the number of the revision that last put the object, or undefined if the configuration does not contain it. */
  since(key: ConfigKey): number | undefined {
    return this.#entries.get(key)?.since;
  }

  /** Creates a new revision and sends it to all followers. Returns its number. */
  append(changes: ConfigChanges): number {
    this.#number += 1;
    const revision = formatRevision(this.revision);
    const lines = [line({ type: 'begin', revision, snapshot: false })];
    for (const key of changes.remove) {
      if (this.#entries.delete(key)) lines.push(line({ type: 'remove', key }));
    }
    for (const object of changes.put) {
      const text = line({ type: 'put', object });
      this.#entries.set(configKey(object), { line: text, since: this.#number });
      lines.push(text);
    }
    lines.push(line({ type: 'commit', revision }));
    for (const follow of this.#followers) follow(lines);
    return this.#number;
  }

  /** Returns the complete current configuration. Later changes do not affect it. */
  snapshot(): Transaction {
    const revision = formatRevision(this.revision);
    return [
      line({ type: 'begin', revision, snapshot: true }),
      ...Array.from(this.#entries.values(), (entry) => entry.line),
      line({ type: 'commit', revision }),
    ];
  }

  /** Sends all followers a message that is not part of the configuration. */
  announce(message: StreamMessage): void {
    for (const follow of this.#followers) follow([line(message)]);
  }

  /** Calls `follow` with every later transaction and announcement, until the returned function is called. */
  follow(follow: (transaction: Transaction) => void): () => void {
    this.#followers.add(follow);
    return () => this.#followers.delete(follow);
  }
}
