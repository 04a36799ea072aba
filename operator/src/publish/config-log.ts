import {
  CONFIG_FEATURES,
  configKey,
  featuresOf,
  formatRevision,
  listText,
  withhold,
  type ConfigKey,
  type ConfigObject,
  type Revision,
  type STREAM_FEATURES,
  type StreamMessage,
  type SupportedFeatures,
} from '@standin/contract';
import type { UnsupportedObject } from '../gateways/gateway-record.ts';
import { PublishedSecrets } from './published-secrets.ts';

/** A complete NDJSON line, with its line break. Contains the value of a signing secret if it is a `secret` message. */
export interface Line {
  readonly text: string;
  /**
   * What the line is about: an object, a secret, or the beginning or the end of a revision. Of several lines about the same, a gateway
   * needs only the last one. An announcement is only about itself, so this is its text.
   */
  readonly about: string;
  /** What replaces the line for gateways that do not support all of `features`. For a project, this is the project without them. */
  readonly otherwise?: {
    readonly features: readonly string[];
    /** For gateways that report their features. They respond with 503 to an endpoint's requests. Empty for a secret. */
    readonly withheld: string;
    /** For those of these gateways that support `signatures`, if the object accepts signatures. */
    readonly withheldSigned?: string;
    /** For gateways of earlier versions, which do not report their features. */
    readonly removed: string;
  };
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

const putLine = (object: ConfigObject): Line => {
  const put = line({ type: 'put', object });
  if (object.kind === 'Project' && object.metrics !== undefined) {
    const without = text({ type: 'put', object: { ...object, metrics: undefined } });
    return { ...put, otherwise: { features: ['project-metrics'], withheld: without, removed: without } };
  }
  const features = featuresOf(object);
  if (features.length === 0 || object.kind === 'Project') return put;
  if (object.kind === 'Account') {
    const unlimited = text({ type: 'put', object: { ...object, requestsPerSecond: undefined } });
    return { ...put, otherwise: { features, withheld: unlimited, removed: unlimited } };
  }
  const { credential, ...endpoint } = withhold(object) ?? object;
  const withheld = text({ type: 'put', object: endpoint });
  const removed = text({ type: 'remove', key: configKey(object) });
  if (credential === undefined) return { ...put, otherwise: { features, withheld, removed } };
  const withheldSigned = text({ type: 'put', object: { ...endpoint, credential } });
  return { ...put, otherwise: { features, withheld, withheldSigned, removed } };
};

const secretLine = (message: Extract<StreamMessage, { type: 'secret' | 'forget' }>): Line => ({
  ...line(message),
  otherwise: { features: ['signatures'], withheld: '', removed: '' },
});

const missing = (features: readonly string[], supported: SupportedFeatures): readonly string[] =>
  features.filter((feature) => supported?.includes(feature) !== true);

/** Returns what is sent to a gateway that supports these features. */
export const textFor = ({ text: usual, otherwise }: Line, supported: SupportedFeatures): string => {
  if (otherwise === undefined || missing(otherwise.features, supported).length === 0) return usual;
  if (supported === undefined) return otherwise.removed;
  return supported.includes('signatures') ? (otherwise.withheldSigned ?? otherwise.withheld) : otherwise.withheld;
};

/** The configuration in one leader's term, as revisions. Each object is serialized once for all gateways. */
export class ConfigLog {
  readonly #epoch: number;
  readonly #entries = new Map<ConfigKey, Entry>();
  /** The features that objects need and that some gateways may not support, by object. */
  readonly #features = new Map<ConfigKey, readonly string[]>();
  readonly #valueOf: (secretId: string) => Uint8Array | undefined;
  readonly #secrets = new PublishedSecrets();
  /** The published secrets by id. */
  readonly #secretLines = new Map<string, Line>();
  readonly #followers = new Set<(transaction: Transaction) => void>();
  #number = 0;

  /** @param valueOf returns the value of a signing secret that an endpoint refers to */
  constructor(epoch: number, valueOf: (secretId: string) => Uint8Array | undefined = () => undefined) {
    this.#epoch = epoch;
    this.#valueOf = valueOf;
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
      const put = putLine(object);
      this.#entries.set(key, { line: put, since: this.#number });
      const features = featuresOf(object);
      if (features.length === 0) this.#features.delete(key);
      else this.#features.set(key, features);
      lines.push(put);
      this.#secrets.set(key, object);
    }
    for (const message of this.#secrets.take(this.#valueOf)) {
      const secret = secretLine(message);
      lines.push(secret);
      if (message.type === 'secret') this.#secretLines.set(message.id, secret);
      else this.#secretLines.delete(message.id);
    }
    lines.push(line({ type: 'commit', revision }));
    for (const follow of this.#followers) follow(lines);
    return this.#number;
  }

  /**
   * Returns the objects that are withheld, in whole or in part, from a gateway that supports these features, as if the gateway had
   * rejected them.
   */
  withheldFrom(supported: SupportedFeatures): UnsupportedObject[] {
    const rejected: UnsupportedObject[] = [];
    if (missing(CONFIG_FEATURES, supported).length === 0) return rejected;
    for (const [key, features] of this.#features) {
      const unsupported = missing(features, supported);
      if (unsupported.length === 0) continue;
      const message = `its version of Standin does not support ${listText(unsupported)}: update the gateway`;
      // Such a gateway gets the account without its limit.
      const isServed = unsupported.every((feature) => feature === 'rate-limits');
      rejected.push({ key, message, ...(isServed && { isServed }) });
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

  /**
   * Passes a message that is not part of the configuration to all followers (see `follow`). With `feature`, gateways that do not
   * support it do not get the message.
   */
  announce(message: StreamMessage, feature?: (typeof STREAM_FEATURES)[number]): void {
    const usual = line(message);
    const announced =
      feature === undefined ? usual : { ...usual, otherwise: { features: [feature], withheld: '', removed: '' } };
    for (const follow of this.#followers) follow([announced]);
  }

  /** Calls `follow` with every later transaction and announcement, until the returned function is called. */
  follow(follow: (transaction: Transaction) => void): () => void {
    this.#followers.add(follow);
    return () => this.#followers.delete(follow);
  }
}
