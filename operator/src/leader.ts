import { setTimeout as delay } from 'node:timers/promises';
import {
  configKey,
  LIMITS,
  type ConfigKey,
  type ResourceObject,
  type ResourceSource,
  type Revision,
} from '@standin/contract';
import { WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { OperatorMetrics } from './admin/metrics.ts';
import type { DesiredState } from './desired-state.ts';
import { AccountKeys, type KeyOwner } from './keys/account-keys.ts';
import { KeyRegenerations } from './keys/key-regenerations.ts';
import { RevokedKeys } from './keys/revoked-keys.ts';
import { OrphanKeeper, type ClaimState, type SpoolVolumes } from './drain/orphan-keeper.ts';
import { ConfigLog } from './publish/config-log.ts';
import type { GatewayMemory } from './publish/gateway-memory.ts';
import { GatewayRegistry, type KnownGateway, type ProgrammedState } from './publish/gateway-registry.ts';
import { LostGateways, type IsGatewayGone } from './publish/lost-gateways.ts';
import type { Term } from './publish/leadership.ts';
import { RememberedGateways } from './publish/remembered-gateways.ts';
import type { StreamServer } from './publish/stream-server.ts';
import type { LedgerStore } from './quota/ledger-store.ts';
import { QuotaKeeper, type QuotaKeeperOptions } from './quota/quota-keeper.ts';
import type { QuotaUsage } from './quota/usage.ts';
import { ReplayKeeper } from './replay/replay-keeper.ts';
import type { ReplayParts } from './replay/replay-run.ts';
import { isOlder } from './resource-version.ts';
import { ShareKeeper } from './share/share-keeper.ts';
import { StatusKeeper, type StatusKeeperOptions } from './status/status-keeper.ts';
import type { StatusWritten } from './status/served-status.ts';
import type { Changes, Translator } from './translate/index.ts';

export interface LeaderParts {
  readonly source: ResourceSource;
  readonly desired: DesiredState;
  readonly translator: Translator;
  readonly server: StreamServer;
  readonly metrics: OperatorMetrics;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly gatewayForgetMs: number;
  readonly gatewayMemory: GatewayMemory;
  readonly isGatewayGone: IsGatewayGone;
  readonly ledgers: LedgerStore;
  /** Undefined: this operator does not drain the volumes of gateways that were scaled away. */
  readonly spoolVolumes: SpoolVolumes | undefined;
  readonly countPermits: QuotaKeeperOptions['countPermits'];
  readonly audited: StatusKeeperOptions['audited'];
  /** How often each Secret is read again. Watching them would require `watch` on all Secrets. */
  readonly secretPollMs: number;
  readonly onStatus: ((written: StatusWritten) => void) | undefined;
  readonly replays: Omit<ReplayParts, 'source' | 'objects' | 'translator' | 'logger'>;
}

/** Maximum number of concurrent reads of Accounts and Secrets. */
const READERS = 16;
/** Failed reads are retried soon, regardless of the number of failures: callers wait for their key. */
const KEY_BACKOFF = { baseMs: 100, capMs: 10_000 };

/** The time that remains of a lease that was not renewed in time. */
const END_MS_MAX = LIMITS.leaseDurationMs - LIMITS.leaseRenewDeadlineMs;

/** One leader's term: creates and reads keys, publishes the configuration to the gateways and writes every status. */
export class Leader {
  readonly #term: Term;
  readonly #parts: LeaderParts;
  readonly #log: ConfigLog;
  readonly #gateways: GatewayRegistry;
  readonly #lost: LostGateways;
  readonly #keys: AccountKeys;
  readonly #keyQueue: WorkQueue;
  readonly #regenerations: KeyRegenerations;
  readonly #revoked = new RevokedKeys((key) => this.#revokedState(key));
  readonly #statuses: StatusKeeper;
  readonly #quota: QuotaKeeper;
  readonly #shares: ShareKeeper;
  readonly #replays: ReplayKeeper;
  readonly #orphans: OrphanKeeper | undefined;
  readonly #remembered: RememberedGateways;
  #known: readonly KnownGateway[] = [];
  /** Earlier changes are not published individually: the first revision contains them. */
  #hasBegun = false;

  constructor(term: Term, parts: LeaderParts) {
    const { source, desired, translator, metrics, registry } = parts;
    const logger = parts.logger.child({ epoch: term.epoch });
    this.#term = term;
    this.#parts = { ...parts, logger };
    this.#log = new ConfigLog(term.epoch);
    this.#gateways = new GatewayRegistry({
      epoch: term.epoch,
      forgetMs: parts.gatewayForgetMs,
      onKnown: (gateways) => {
        this.#known = gateways;
        this.#lost.found(gateways);
        this.#remembered.changed();
      },
      onLost: (name) => this.#lost.add(name),
      onProgress: (keys) => this.#progress(keys),
    });
    this.#lost = new LostGateways({
      isGone: parts.isGatewayGone,
      onGone: () => {
        this.#remembered.changed();
        this.#progress([]);
      },
      logger,
    });
    this.#keys = new AccountKeys({
      source,
      logger: logger.child({ stage: 'keys' }),
      owner: (uid) => this.#keyOwner(uid),
      onKey: (uid, state) => desired.setKey(uid, state),
    });
    this.#statuses = new StatusKeeper({
      ...{ source, translator, metrics, logger, registry, objects: desired.objects, onStatus: parts.onStatus },
      key: (uid) => this.#keys.known(uid),
      usage: (uid) => this.#quota.usage(uid),
      audited: parts.audited,
      programmed: (key) => {
        const since = this.#log.since(key);
        return since === undefined ? undefined : (this.#revoked.state(key) ?? this.#gateways.programmed(key, since));
      },
    });
    this.#quota = new QuotaKeeper({
      store: parts.ledgers,
      logger: logger.child({ stage: 'quota' }),
      limit: (uid) => translator.verdict(uid)?.quota,
      gatewayCount: () => this.gateways.filter(({ connected }) => connected).length,
      isConnected: (gateway, instance) => this.#gateways.isConnected(gateway, instance),
      recall: (account) => this.#log.announce({ type: 'recall', account }),
      countPermits: parts.countPermits,
      onUsage: (uid) => this.#statuses.usageChanged(uid),
    });
    this.#shares = new ShareKeeper({ source, objects: desired.objects, logger, registry });
    this.#replays = new ReplayKeeper({
      ...parts.replays,
      ...{ source, translator, registry, objects: desired.objects, logger: logger.child({ stage: 'replay' }) },
    });
    this.#orphans = parts.spoolVolumes && new OrphanKeeper({ ...parts.spoolVolumes, logger, registry });
    this.#keyQueue = new WorkQueue({
      ...{ name: 'keys', concurrency: READERS, backoff: KEY_BACKOFF, registry, logger },
      reconcile: async (uid) => ((await this.#keys.read(uid)) ? { requeueAfterMs: parts.secretPollMs } : undefined),
    });
    this.#regenerations = new KeyRegenerations({
      ...{ source, objects: desired.objects, logger, registry },
      owner: (uid) => this.#keyOwner(uid),
      readSoon: (uid) => this.#keyQueue.add(uid),
      programmed: (uid, sha256) => this.#keyProgrammed(uid, sha256),
      gatewayCount: () => this.#gateways.answeringCount + this.#lost.count,
    });
    this.#remembered = new RememberedGateways({
      ...{ memory: parts.gatewayMemory, registry, logger },
      // Includes lost gateways: the next leader must not complete what waits for them.
      gateways: () => [...this.#known, ...this.#lost.known],
    });
  }

  /** Reads the known gateways, reads Accounts and Secrets bypassing all caches, then serves. Rejects if one of them cannot be read. */
  async begin(): Promise<void> {
    const { desired, translator, server, logger } = this.#parts;
    const { signal } = this.#term;
    this.#known = await this.#remembered.read();
    this.#gateways.expect(this.#known);
    await this.#refreshAccounts();
    desired.flush();
    await inParallel(this.#accounts(), signal, async (uid) => {
      await this.#keys.read(uid);
    });
    if (signal.aborted) return;

    // The rest runs synchronously, so no change is lost between the first revision and the first call of `apply`.
    desired.flush();
    this.#hasBegun = true;
    for (const uid of this.#accounts()) this.#keyQueue.addAfter(uid, this.#nextReadMs(uid));
    const objects = [...translator.objects()];
    const number = this.#log.append({ put: objects, remove: [] });
    this.#revoked.begin(objects, desired.objects);
    this.#statuses.changed({ put: objects, verdicts: [] }, number);
    this.#statuses.begin();
    this.#shares.begin();
    this.#replays.begin();
    this.#regenerations.begin();
    this.#orphans?.begin();
    const remembered = (name: string): Promise<void> => this.#remembered.has(name);
    server.lead({ log: this.#log, gateways: this.#gateways, quota: this.#quota, remembered });
    logger.info({ objects: this.#log.size }, 'leading');
  }

  /** Publishes changes and updates the statuses that depend on them. */
  apply(changes: Changes): void {
    if (!this.#hasBegun) return;
    for (const { uid, keySecret } of changes.verdicts) if (keySecret !== undefined) this.#keyQueue.add(uid);
    const isPublished = changes.put.length + changes.remove.length > 0;
    const number = isPublished ? this.#log.append(changes) : undefined;
    this.#revoked.published(changes.put);
    this.#statuses.changed(changes, number);
  }

  /** The source reports an object, changed or not. */
  seen(object: ResourceObject): void {
    if (!this.#hasBegun) return;
    this.#statuses.seen(object);
    this.#shares.seen(object);
    this.#replays.seen(object);
    this.#regenerations.seen(object);
  }

  /** The audit's result for an account's quota has changed. */
  auditChanged(accountUid: string): void {
    if (this.#hasBegun) this.#statuses.auditChanged(accountUid);
  }

  forget(object: ResourceObject): void {
    this.#keys.forget(object.metadata.uid);
    this.#statuses.forget(object);
    if (object.kind === 'Account') {
      this.#quota.forget(object.metadata.uid);
      this.#revoked.forget(object.metadata.uid);
    }
    this.#shares.forget(object);
    this.#replays.forget(object);
    this.#regenerations.forget(object);
  }

  get revision(): Revision {
    return this.#log.revision;
  }

  get gateways(): GatewayRegistry['gateways'] {
    return this.#gateways.gateways;
  }

  /** How much of its quota an account has used. Undefined: it has no quota, or no gateway has requested permits in this term. */
  usage(accountUid: string): QuotaUsage | undefined {
    return this.#quota.usage(accountUid);
  }

  /** The state of each gateway's volume, by claim. Undefined if this operator does not drain volumes. */
  get spoolVolumes(): ReadonlyMap<string, ClaimState> | undefined {
    return this.#orphans?.states;
  }

  /** Every account's key has been read, and at least one gateway holds the newest revision. */
  isSettled(): boolean {
    const { number } = this.revision;
    return (
      this.#hasBegun &&
      !this.#parts.desired.hasPending &&
      this.#accounts().every((uid) => this.#keyOwner(uid) === undefined || this.#keys.known(uid) !== undefined) &&
      this.gateways.some(({ acked }) => acked.number === number)
    );
  }

  /**
   * Resolves when nothing of this term is running, or after `END_MS_MAX`. A call that hangs must not prevent this operator from
   * leading again. It does no harm later, since its write is conditional on the version that it read.
   */
  async end(): Promise<void> {
    this.#hasBegun = false;
    this.#parts.server.follow();
    // Must come first, since the others are empty afterwards.
    const written = this.#remembered.stop();
    this.#gateways.close();
    this.#lost.close();
    const stopped = Promise.all([
      this.#statuses.stop(),
      this.#quota.stop(),
      this.#shares.stop(),
      this.#replays.stop(),
      this.#regenerations.stop(),
      this.#orphans?.stop(),
      this.#keyQueue.stop(),
      written,
    ]);
    await Promise.race([stopped, delay(END_MS_MAX, undefined, { ref: false })]);
  }

  /**
   * Gateways acknowledged a revision or were forgotten, or a lost gateway is gone. `keys` are the objects that are newly rejected,
   * or no longer rejected.
   */
  #progress(keys: readonly ConfigKey[]): void {
    this.#statuses.progress(this.#gateways.floor, [...keys, ...this.#revoked.progress()]);
    this.#regenerations.progress();
  }

  #accounts(): string[] {
    return [...this.#parts.desired.objects].filter(([, { kind }]) => kind === 'Account').map(([uid]) => uid);
  }

  #keyOwner(uid: string): KeyOwner | undefined {
    const { desired, translator } = this.#parts;
    const account = desired.objects.get(uid);
    const secret = translator.verdict(uid)?.keySecret;
    return account === undefined || secret === undefined ? undefined : { account, ...secret };
  }

  /** Undefined unless this is the last published key. */
  #keyProgrammed(accountUid: string, sha256: string): ProgrammedState | undefined {
    const known = this.#keys.known(accountUid)?.key;
    if (known?.kind !== 'key' || known.sha256 !== sha256 || this.#parts.desired.hasPending) return undefined;
    return this.#revokedState(configKey({ kind: 'Account', uid: accountUid }));
  }

  #revokedState(key: ConfigKey): ProgrammedState | undefined {
    const since = this.#log.since(key);
    if (since === undefined) return undefined;
    return this.#lost.waitsFor(this.#gateways.revoked(key, since), this.#gateways.answeringCount);
  }

  /**
   * Spread over the interval, so that the Secrets are not all read at the same time. 0 if the Account was added or changed while
   * the term began.
   */
  #nextReadMs(uid: string): number {
    const isRead = this.#keys.known(uid)?.secretName === this.#keyOwner(uid)?.secretName;
    return isRead ? this.#parts.secretPollMs * Math.random() : 0;
  }

  async #refreshAccounts(): Promise<void> {
    const { source, desired } = this.#parts;
    await inParallel(this.#accounts(), this.#term.signal, async (uid) => {
      const account = desired.objects.get(uid);
      if (account === undefined) return;
      const { namespace, name } = account.metadata;
      const fresh = await source.get({ kind: 'Account', namespace, name });
      const known = desired.objects.get(uid);
      // Reported by the source since: the read object may be older.
      if (known === undefined || (fresh?.metadata.uid === uid && isOlder(fresh, known))) return;
      if (fresh?.metadata.uid !== uid) desired.remove(known);
      if (fresh !== undefined) desired.put(fresh);
    });
  }
}

/** Starts no further items after `signal` aborts. */
const inParallel = async <T>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
): Promise<void> => {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: READERS }, async () => {
      for (const item of queue) {
        if (signal.aborted) return;
        await work(item);
      }
    }),
  );
};
