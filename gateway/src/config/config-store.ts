import {
  errorMessage,
  compareRevisions,
  configKey,
  configObjectSchema,
  FairSelection,
  formatRevision,
  LIMITS,
  parseRevision,
  withhold,
  type AccountConfig,
  type ConfigKey,
  type ConfigObject,
  type HeaderPair,
  type ProjectConfig,
  type RejectedObject,
  type Revision,
  type StreamMessage,
} from '@standin/contract';
import type { Authority } from '@standin/egress';
import type { Logger } from 'pino';
import { RoutingTable, type TableEntry } from '../match/routing-table.ts';
import type { Endpoint, ForwardEndpoint, SignatureCredential } from '../request/route.ts';
import { compile } from './compile.ts';

/** A finished transaction, to be acknowledged. */
export interface Committed {
  readonly revision: Revision;
  readonly rejected: readonly RejectedObject[];
  /** Whether the transaction revoked a key, which must not become valid again through the copy on disk. */
  readonly revokesKey: boolean;
}

/**
 * Thrown when a message from the operator contradicts this gateway's state. The session ends, and the next one begins
 * with a snapshot.
 */
export class StreamProtocolError extends Error {
  override readonly name = 'StreamProtocolError';
}

/** A time on two clocks. The first clock stops while the machine is suspended, and the second clock can be set back or forward. */
export interface Moment {
  /** The time as returned by `performance.now()`. */
  readonly uptimeMs: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

export interface ConfigStoreOptions {
  readonly logger: Logger;
  /** How long the last configuration stays active without contact with the operator. 0 means no limit. */
  readonly maxStalenessMs: number;
  /** Returns milliseconds since the epoch. */
  readonly clock?: () => number;
}

type Begin = Pick<Extract<StreamMessage, { type: 'begin' }>, 'revision' | 'snapshot'>;

interface Change {
  readonly key: ConfigKey;
  /** Undefined if the object is removed. */
  readonly entry: TableEntry | undefined;
}

/** What is known about an object that this gateway cannot serve. A newer operator may have sent it. */
interface RejectedSubject {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

interface Rejection {
  readonly namespace: string;
  readonly message: string;
}

interface Transaction {
  readonly revision: Revision;
  readonly isSnapshot: boolean;
  readonly changes: Change[];
  readonly rejected: Map<ConfigKey, Rejection>;
  /** Keys of the objects that this transaction puts or removes. */
  readonly named: Set<ConfigKey>;
  /** The values of secrets by their id, or undefined for secrets to delete. */
  readonly secrets: Map<string, Uint8Array | undefined>;
}

/** A replaced leader can believe that it is still leading for at most one lease duration. This is twice that time. */
const OLDER_MS = 2 * LIMITS.leaseDurationMs;
const MESSAGE_LENGTH_MAX = 1_000;
const NO_HEADERS: readonly HeaderPair[] = [];

/**
 * The active configuration. A transaction is prepared separately, object by object as it arrives, and its commit applies it as a
 * whole, so no request sees half of it. An object that this gateway cannot serve keeps its last valid version.
 */
export class ConfigStore {
  readonly #logger: Logger;
  readonly #maxStalenessMs: number;
  readonly #clock: () => number;
  #table: RoutingTable | undefined;
  /** Kept apart from the objects, which the copy on disk contains. */
  #secrets = new Map<string, Uint8Array>();
  #revision: Revision = { epoch: 0, number: 0 };
  /** Whether the configuration comes from the disk. Any configuration from an operator counts as newer. */
  #isFromDisk = false;
  #rejected = new Map<ConfigKey, Rejection>();
  /** The rejected objects that are reported, so that one namespace cannot hide those of others. */
  #reported = new FairSelection(LIMITS.rejectedObjectsMax);
  #transaction: Transaction | undefined;
  #lastMessageMs: number | undefined;
  #confirmed: Moment = { uptimeMs: -Infinity, atMs: -Infinity };
  #olderSinceMs: number | undefined;

  constructor({ logger, maxStalenessMs, clock = Date.now }: ConfigStoreOptions) {
    this.#logger = logger;
    this.#maxStalenessMs = maxStalenessMs;
    this.#clock = clock;
  }

  get revision(): Revision {
    return this.#revision;
  }

  get isFromDisk(): boolean {
    return this.#isFromDisk;
  }

  get objectCount(): number {
    return this.#table?.size ?? 0;
  }

  get rejectedCount(): number {
    return this.#rejected.size;
  }

  /** Returns the milliseconds since the operator's last message, or undefined before the first one. */
  ageMs(nowMs: number): number | undefined {
    return this.#lastMessageMs === undefined ? undefined : nowMs - this.#lastMessageMs;
  }

  /**
   * Returns the routing table for requests at `nowMs` (from `performance.now()`), or undefined if there is no configuration or if
   * the last confirmation (see `confirmed`) is older than `maxStalenessMs`.
   */
  tableAt(nowMs: number): RoutingTable | undefined {
    return this.#maxStalenessMs > 0 && this.#isStaleAt(nowMs) ? undefined : this.#table;
  }

  /**
   * Returns whether the last confirmation is older than `maxStalenessMs` on either clock. If one clock is set back, the other
   * still counts. If one is set forward, requests are refused until the next confirmation.
   */
  #isStaleAt(nowMs: number): boolean {
    const { uptimeMs, atMs } = this.#confirmed;
    return Math.max(nowMs - uptimeMs, this.#clock() - atMs) > this.#maxStalenessMs;
  }

  /** Returns the active endpoint with this uid, or undefined if there is none. */
  endpoint(uid: string): Endpoint | undefined {
    const entry = this.#table?.entry(configKey({ kind: 'Endpoint', uid }));
    return entry?.kind === 'Endpoint' ? entry.endpoint : undefined;
  }

  /** Returns the active account with this uid, or undefined if there is none. */
  account(uid: string): AccountConfig | undefined {
    return this.#table?.account(uid);
  }

  /** Returns the active project with this uid, or undefined if there is none. */
  project(uid: string): ProjectConfig | undefined {
    const entry = this.#table?.entry(configKey({ kind: 'Project', uid }));
    return entry?.kind === 'Project' ? entry.config : undefined;
  }

  /** Returns the active authority with this uid, or undefined if there is none. */
  authority(uid: string): Authority | undefined {
    const entry = this.#table?.entry(configKey({ kind: 'Authority', uid }));
    return entry?.kind === 'Authority' ? entry.authority : undefined;
  }

  /** Returns whether the requests to a project are counted separately, because it is active and has metrics within the limit. */
  hasMetrics(project: ProjectConfig): boolean {
    return this.#table?.hasMetrics(project) === true;
  }

  /**
   * Returns the values of an endpoint's secrets in order, or undefined if the operator has not sent all of them, for example because
   * the configuration comes from the disk.
   */
  secretValues({ secretIds }: SignatureCredential): readonly Uint8Array[] | undefined {
    const values = secretIds.map((id) => this.#secrets.get(id));
    return values.every((value) => value !== undefined) ? values : undefined;
  }

  /**
   * Returns the headers from Secrets for an endpoint's upstream, or undefined if one of them may not be sent: its value was replaced or
   * withdrawn, the operator has not sent it, or no configuration is active.
   */
  secretHeaders({ config: { uid }, forward: { secretHeaders } }: ForwardEndpoint): readonly HeaderPair[] | undefined {
    if (secretHeaders === undefined) return NO_HEADERS;
    const table = this.tableAt(performance.now());
    const headers = secretHeaders.map(({ name, secretId = '' }) => {
      const value = table?.sendsSecret(uid, secretId) === true ? this.#secrets.get(secretId) : undefined;
      return value && ([name, Buffer.from(value).toString('latin1')] as const);
    });
    return headers.every((header) => header !== undefined) ? headers : undefined;
  }

  /** Returns all active objects, for the copy on disk. */
  objects(): readonly TableEntry[] {
    return [...(this.#table?.entries() ?? [])];
  }

  /** Records that the operator sent a message. */
  messageReceived(nowMs: number): void {
    this.#lastMessageMs = nowMs;
  }

  /**
   * Records the response to an acknowledgement that was sent at `sent`. The operator waits for this gateway at least until
   * `maxStalenessMs` after `sent`. The time of sending counts, not the time of reading, because a process that was frozen finds old
   * messages in its sockets.
   */
  confirmed(sent: Moment): void {
    this.#confirmed = sent;
  }

  /**
   * Decides what to do with a transaction: `take` it, `skip` a delta that is older than the active revision, or `refuse` an
   * operator whose snapshot is older. Such an operator has not noticed yet that it is no longer leading. If older snapshots still
   * arrive after `OLDER_MS`, the epochs have restarted, and the snapshot is valid.
   */
  judge({ revision, snapshot }: Begin, nowMs: number): 'take' | 'skip' | 'refuse' {
    if (this.#isFromDisk || compareRevisions(parseRevision(revision), this.#revision) >= 0) {
      this.#olderSinceMs = undefined;
      return 'take';
    }
    if (!snapshot) return 'skip';
    this.#olderSinceMs ??= nowMs;
    if (nowMs - this.#olderSinceMs < OLDER_MS) return 'refuse';
    this.#logger.warn({ revision, replaces: formatRevision(this.#revision) }, 'operator epochs restarted');
    this.#olderSinceMs = undefined;
    return 'take';
  }

  /** Discards the open transaction of a connection that ended. */
  abandon(): void {
    this.#transaction = undefined;
  }

  begin({ revision, snapshot }: Begin): void {
    if (this.#transaction !== undefined)
      throw new StreamProtocolError('a transaction began before the previous one ended');
    if (!snapshot && (this.#table === undefined || this.#isFromDisk)) {
      throw new StreamProtocolError('a delta arrived before the first snapshot');
    }
    this.#transaction = {
      revision: parseRevision(revision),
      isSnapshot: snapshot,
      changes: [],
      rejected: new Map(),
      named: new Set(),
      secrets: new Map(),
    };
  }

  put(object: ConfigObject): void {
    const key = configKey(object);
    try {
      this.#change(key, compile(object));
    } catch (error) {
      this.reject(key, errorMessage(error), object);
    }
  }

  remove(key: ConfigKey): void {
    this.#change(key, undefined);
  }

  /** Sets the value of a secret, or deletes the secret if `value` is undefined. */
  secret(id: string, value: Uint8Array | undefined): void {
    this.#current().secrets.set(id, value);
  }

  reject(key: ConfigKey, message: string, { namespace = '', name }: RejectedSubject): void {
    const transaction = this.#current();
    const lastValid = this.#table?.entry(key);
    if (lastValid !== undefined) this.#change(key, lastValid);
    transaction.named.add(key);
    transaction.rejected.set(key, { namespace, message: message.slice(0, MESSAGE_LENGTH_MAX) });
    this.#logger.warn({ key, namespace, name, reason: message }, 'object rejected, keeping its last valid version');
  }

  /** Applies the changes since `begin`. */
  commit(revision: string): Committed {
    const transaction = this.#current();
    if (revision !== formatRevision(transaction.revision)) {
      throw new StreamProtocolError('the revision of a commit differs from that of its transaction');
    }
    this.#transaction = undefined;
    const before = this.#table;
    const revoked = credentialsIn(before, transaction);
    const table = transaction.isSnapshot || before === undefined ? new RoutingTable() : before;
    // The following statements neither fail nor wait, so requests see the state either before or after the change,
    // never in between.
    for (const { key, entry } of transaction.changes) {
      if (entry === undefined) table.remove(key);
      else table.put(key, entry);
    }
    if (transaction.isSnapshot) this.#secrets = new Map();
    for (const [id, value] of transaction.secrets) {
      if (value === undefined) this.#secrets.delete(id);
      else this.#secrets.set(id, value);
    }
    this.#noteRejections(transaction);
    this.#table = table;
    this.#revision = transaction.revision;
    this.#isFromDisk = false;
    return {
      revision: transaction.revision,
      rejected: Array.from(this.#reported, (key) => ({ key, message: this.#rejected.get(key)?.message ?? '' })),
      revokesKey: revoked.some((isValidIn) => !isValidIn(table)),
    };
  }

  /** Restores the copy on disk. Does nothing if a stream was faster, or if `objects` throws. */
  restore(revision: Revision, objects: Iterable<unknown>): void {
    if (this.#table !== undefined) return;
    const table = new RoutingTable();
    for (const object of objects) {
      const parsed = configObjectSchema.safeParse(object);
      // After a rollback, a newer version may have written the copy.
      const config = parsed.success ? parsed.data : withhold(object);
      if (config === undefined) continue;
      try {
        table.put(configKey(config), compile(config));
      } catch {
        // The object was valid when it was written. The operator will send it again and learn why it was rejected.
      }
    }
    this.#table = table;
    this.#revision = revision;
    this.#isFromDisk = true;
  }

  #change(key: ConfigKey, entry: TableEntry | undefined): void {
    const transaction = this.#current();
    transaction.changes.push({ key, entry });
    transaction.named.add(key);
    transaction.rejected.delete(key);
  }

  #noteRejections({ isSnapshot, named, rejected }: Transaction): void {
    if (isSnapshot) {
      this.#rejected = new Map();
      this.#reported = new FairSelection(LIMITS.rejectedObjectsMax);
    }
    for (const key of named) {
      const before = this.#rejected.get(key);
      const after = rejected.get(key);
      if (before !== undefined && before.namespace !== after?.namespace) this.#reported.delete(before.namespace, key);
      if (after !== undefined) this.#reported.add(after.namespace, key);
      if (after === undefined) this.#rejected.delete(key);
      else this.#rejected.set(key, after);
    }
  }

  #current(): Transaction {
    if (this.#transaction === undefined) throw new StreamProtocolError('a change arrived outside a transaction');
    return this.#transaction;
  }
}

/**
 * Returns one function for each key and signing secret that the transaction may revoke. The function returns whether a table still
 * accepts the key or secret.
 */
const credentialsIn = (
  before: RoutingTable | undefined,
  { isSnapshot, named }: Transaction,
): ((after: RoutingTable) => boolean)[] => {
  if (before === undefined) return [];
  const candidates = isSnapshot ? before.entries() : [...named].map((key) => before.entry(key));
  const found: ((after: RoutingTable) => boolean)[] = [];
  for (const entry of candidates) {
    if (entry?.kind === 'Account' && entry.config.keySha256 !== undefined) {
      const { uid, keySha256 } = entry.config;
      // Another account may have taken the key.
      found.push((after) => after.account(uid)?.keySha256 === keySha256);
    }
    if (entry?.kind === 'Endpoint') {
      const { config, credential } = entry.endpoint;
      for (const id of credential?.secretIds ?? []) found.push((after) => after.acceptsSecret(config.uid, id));
    }
  }
  return found;
};
