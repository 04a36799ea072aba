import {
  CONFIG_FEATURES,
  configKey,
  formatRevision,
  LIMITS,
  listText,
  withhold,
  type ConfigFeatures,
  type ConfigKey,
  type ConfigObject,
  type RejectedObject,
  type Revision,
  type StreamMessage,
} from '@standin/contract';
import { systemClock } from '@standin/kube';
import { PublishedSecrets } from './published-secrets.ts';

/** A complete NDJSON line, with its line break. Contains the value of a secret if it is a `secret` message. */
export interface Line {
  readonly text: string;
  /**
   * What the line is about: an object, a secret, or the beginning or the end of a revision. Of several lines about the same, a gateway
   * needs only the last one. An announcement is only about itself, so this is its text.
   */
  readonly about: string;
  /** Set if only gateways with these features get the line. Others get `text`, with which they respond with 503. */
  readonly withheld?: { readonly features: readonly string[]; readonly text: string };
}

/** Lines that are sent together: a revision from `begin` to `commit`, or an announcement. */
export type Transaction = readonly Line[];

export interface ConfigChanges {
  readonly put: readonly ConfigObject[];
  readonly remove: readonly ConfigKey[];
}

interface Entry {
  readonly line: Line;
  /** Number of the revision that put the object. */
  readonly since: number;
}

/** What the first and the last line of a revision are about. */
export const BEGIN = 'begin';
export const COMMIT = 'commit';
/** What a heartbeat is about. */
export const HEARTBEAT = 'heartbeat';

/** The shortest time between two acknowledgements that are asked for, so that tenants cannot make gateways send many of them. */
const ASK_MS_MIN = LIMITS.streamHeartbeatMs / 4;

const text = (message: StreamMessage): string => `${JSON.stringify(message)}\n`;
const line = (message: StreamMessage): Line => {
  const written = text(message);
  return { text: written, about: subject(message) ?? written };
};

/** Returns what a message is about. Undefined for an announcement, which is only about itself. */
const subject = (message: StreamMessage): string | undefined => {
  switch (message.type) {
    case 'begin':
      return BEGIN;
    case 'commit':
      return COMMIT;
    case 'heartbeat':
      return HEARTBEAT;
    case 'put':
      return configKey(message.object);
    case 'remove':
      return message.key;
    case 'secret':
    case 'forget':
      return `secret ${message.id}`;
    default:
      return undefined;
  }
};

const putLine = (object: ConfigObject, features: readonly string[]): Line => {
  const put = line({ type: 'put', object });
  const withheld = features.length === 0 ? undefined : withhold(object);
  return withheld === undefined
    ? put
    : { ...put, withheld: { features, text: text({ type: 'put', object: withheld }) } };
};

const missing = (features: readonly string[], supported: readonly string[]): readonly string[] =>
  features.filter((feature) => !supported.includes(feature));

/** Returns what is sent to a gateway that supports these features. */
export const textFor = ({ text: usual, withheld }: Line, supported: readonly string[]): string =>
  withheld === undefined || missing(withheld.features, supported).length === 0 ? usual : withheld.text;

/** The configuration in one leader's term, as revisions. Each object is serialized once for all gateways. */
export class ConfigLog {
  readonly #epoch: number;
  readonly #entries = new Map<ConfigKey, Entry>();
  /** The features that endpoints need and that some gateways may not support, by endpoint. */
  readonly #features = new Map<ConfigKey, readonly string[]>();
  readonly #secretValue: (secretId: string) => Uint8Array | undefined;
  readonly #known: ConfigFeatures;
  readonly #secrets = new PublishedSecrets();
  /** The published secrets by id. */
  readonly #secretLines = new Map<string, Line>();
  readonly #followers = new Set<(transaction: Transaction) => void>();
  #number = 0;
  /** When acknowledgements were last asked for, in milliseconds of `systemClock.now()`. */
  #askedAt = -Infinity;

  /** @param secretValue returns the value of a secret that an endpoint refers to */
  constructor(
    epoch: number,
    secretValue: (secretId: string) => Uint8Array | undefined = () => undefined,
    known: ConfigFeatures = CONFIG_FEATURES,
  ) {
    this.#epoch = epoch;
    this.#secretValue = secretValue;
    this.#known = known;
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

  /** Creates a new revision and passes it to all followers (see `follow`). Returns its number. */
  append(changes: ConfigChanges): number {
    this.#number += 1;
    const revision = formatRevision(this.revision);
    const lines = [line({ type: 'begin', revision, snapshot: false })];
    for (const key of changes.remove) {
      if (this.#entries.delete(key)) lines.push(line({ type: 'remove', key }));
      this.#features.delete(key);
      this.#secrets.set(key, undefined);
    }
    for (const object of changes.put) {
      const key = configKey(object);
      const features = this.#needed(object);
      const put = putLine(object, features);
      this.#entries.set(key, { line: put, since: this.#number });
      if (features.length === 0) this.#features.delete(key);
      else this.#features.set(key, features);
      lines.push(put);
      this.#secrets.set(key, object);
    }
    for (const message of this.#secrets.take(this.#secretValue)) {
      const secret = line(message);
      lines.push(secret);
      if (message.type === 'secret') this.#secretLines.set(message.id, secret);
      else this.#secretLines.delete(message.id);
    }
    lines.push(line({ type: 'commit', revision }));
    for (const follow of this.#followers) follow(lines);
    return this.#number;
  }

  /** Returns the endpoints that are withheld from a gateway that supports these features, as if the gateway had rejected them. */
  withheldFrom(supported: readonly string[]): RejectedObject[] {
    const rejected: RejectedObject[] = [];
    for (const [key, features] of this.#features) {
      const unsupported = missing(features, supported);
      if (unsupported.length === 0) continue;
      const message = `its version of Standin does not support ${listText(unsupported)}: update the gateway`;
      rejected.push({ key, message });
    }
    return rejected;
  }

  /** Returns the complete current configuration. Later changes do not affect it. */
  snapshot(): Transaction {
    const revision = formatRevision(this.revision);
    return [
      line({ type: 'begin', revision, snapshot: true }),
      ...this.#secretLines.values(),
      ...Array.from(this.#entries.values(), (entry) => entry.line),
      line({ type: 'commit', revision }),
    ];
  }

  /** Returns a heartbeat, which every gateway acknowledges. */
  heartbeat(): Line {
    return line({ type: 'heartbeat', revision: formatRevision(this.revision), sentMs: systemClock.now() });
  }

  /** Asks all gateways for an acknowledgement before the next heartbeat is due. Does nothing if they were asked a short time ago. */
  askForAcks(): void {
    const now = systemClock.now();
    if (now < this.#askedAt + ASK_MS_MIN) return;
    this.#askedAt = now;
    for (const follow of this.#followers) follow([this.heartbeat()]);
  }

  /** Passes a message that is not part of the configuration to all followers (see `follow`). */
  announce(message: StreamMessage): void {
    for (const follow of this.#followers) follow([line(message)]);
  }

  /** Calls `follow` with every later transaction and announcement, until the returned function is called. */
  follow(follow: (transaction: Transaction) => void): () => void {
    this.#followers.add(follow);
    return () => this.#followers.delete(follow);
  }

  /** Returns the features that a gateway must support to serve the object. */
  #needed(object: ConfigObject): readonly string[] {
    if (object.kind !== 'Endpoint') return [];
    return Object.entries(this.#known).flatMap(([feature, isNeeded]) => (isNeeded(object) ? feature : []));
  }
}
