import { type ConfigKey, type ResourceObject, type ResourceSource, type Revision } from '@standin/contract';
import { WorkQueue, type ReconcileResult } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { OperatorMetrics } from './admin/metrics.ts';
import type { DesiredState } from './desired-state.ts';
import type { AccountKeys } from './keys/account-keys.ts';
import { ConfigLog, type ConfigChanges } from './publish/config-log.ts';
import type { GatewayMemory } from './publish/gateway-memory.ts';
import { GatewayRegistry } from './publish/gateway-registry.ts';
import type { Term } from './publish/leadership.ts';
import type { StreamServer } from './publish/stream-server.ts';
import { StatusFields } from './status/status-fields.ts';
import { StatusWriter, type StatusWritten } from './status/status-writer.ts';
import type { Changes, Translator } from './translate/index.ts';

export interface LeaderParts {
  readonly source: ResourceSource;
  readonly desired: DesiredState;
  readonly translator: Translator;
  readonly keys: AccountKeys;
  readonly server: StreamServer;
  readonly metrics: OperatorMetrics;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly gatewayForgetMs: number;
  readonly gatewayMemory: GatewayMemory;
  readonly onStatus?: ((written: StatusWritten) => void) | undefined;
}

/** By then gateways have usually acknowledged, and a new Account's key was read: one write says all. */
const STATUS_DELAY_MS = 100;
/** A new leader's gateways come back within this time. */
const SETTLE_MS = 10_000;
/** Counts in a Project's status follow its endpoints after this time, together. */
const COUNT_DELAY_MS = 500;
const STATUS_WORKERS = 16;
const REFRESH_WORKERS = 16;

const REMEMBERING = 'known';

const uidOf = (key: ConfigKey): string => key.slice(key.indexOf('/') + 1);

/** One term of leadership: publishes the configuration to the gateways and writes every status. */
export class Leader {
  readonly #parts: LeaderParts;
  readonly #log: ConfigLog;
  readonly #gateways: GatewayRegistry;
  readonly #statuses: WorkQueue;
  /** Writes down who the known gateways are; a queue, for its retries. */
  readonly #remembering: WorkQueue;
  readonly #writer: StatusWriter;
  readonly #fields: StatusFields;
  #known: readonly string[] = [];
  /** Objects that wait for gateways, by the revision that put them. */
  #waiting: { readonly number: number; readonly at: number; readonly uids: readonly string[] }[] = [];

  constructor({ epoch }: Pick<Term, 'epoch'>, parts: LeaderParts) {
    const { source, desired, translator, keys, registry } = parts;
    const logger = parts.logger.child({ epoch });
    this.#parts = { ...parts, logger };
    this.#log = new ConfigLog(epoch);
    this.#gateways = new GatewayRegistry({
      epoch,
      forgetMs: parts.gatewayForgetMs,
      onKnown: (names) => {
        this.#known = names;
        this.#remembering.add(REMEMBERING);
      },
      onProgress: ({ upTo, keys: changed }) => this.#progress(upTo, changed),
    });
    this.#fields = new StatusFields(translator, keys);
    this.#writer = new StatusWriter({
      source,
      logger: logger.child({ stage: 'status' }),
      settledAtMs: Date.now() + SETTLE_MS,
      inputs: {
        object: (uid) => desired.objects.get(uid),
        verdict: (uid) => translator.verdict(uid),
        programmed: (key) => {
          const since = this.#log.since(key);
          return since === undefined ? undefined : this.#gateways.programmed(key, since);
        },
        extra: (verdict, before, now) => this.#fields.of(verdict, before, now),
      },
    });
    this.#remembering = new WorkQueue({
      name: 'gateways',
      registry,
      logger,
      reconcile: async () => {
        await parts.gatewayMemory.write(this.#known);
        return undefined;
      },
    });
    this.#statuses = new WorkQueue({
      name: 'status',
      concurrency: STATUS_WORKERS,
      registry,
      logger,
      reconcile: (uid) => this.#writeStatus(uid),
    });
  }

  /** Reads the known gateways, and Accounts and Secrets past all caches, then serves. */
  async begin(): Promise<void> {
    const { desired, translator, server, logger, gatewayMemory } = this.#parts;
    this.#gateways.expect(await gatewayMemory.read());
    await this.#refreshAccounts();
    desired.flush();
    this.#publish({ put: [...translator.objects()], remove: [] });
    for (const uid of desired.objects.keys()) this.#statuses.add(uid);
    server.lead({ log: this.#log, gateways: this.#gateways });
    logger.info({ objects: this.#log.size }, 'leading');
  }

  /** Publishes what changed and has the statuses written that follow from it. */
  apply(changes: Changes): void {
    if (changes.put.length + changes.remove.length > 0) this.#publish(changes);
    for (const { uid } of [...changes.put, ...changes.verdicts]) this.#statuses.addAfter(uid, STATUS_DELAY_MS);
  }

  forget({ metadata: { uid } }: ResourceObject): void {
    this.#writer.forget(uid);
    const project = this.#fields.forget(uid);
    if (project !== undefined) this.#statuses.addAfter(project, COUNT_DELAY_MS);
  }

  get revision(): Revision {
    return this.#log.revision;
  }

  get gateways(): GatewayRegistry['gateways'] {
    return this.#gateways.gateways;
  }

  /** Every account's key was read, and at least one gateway holds the newest revision. */
  isSettled(): boolean {
    const { desired, keys, translator } = this.#parts;
    const { number } = this.revision;
    const accounts = [...desired.objects.values()].filter(({ kind }) => kind === 'Account');
    return (
      !desired.hasPending &&
      accounts.every(({ metadata: { uid } }) => {
        return translator.verdict(uid)?.keySecret === undefined || keys.state(uid) !== undefined;
      }) &&
      this.gateways.some(({ acked }) => acked.number === number)
    );
  }

  async end(): Promise<void> {
    this.#parts.server.follow(undefined);
    this.#gateways.close();
    await Promise.all([this.#statuses.stop(), this.#remembering.stop()]);
  }

  #publish(changes: ConfigChanges): void {
    const number = this.#log.append(changes);
    this.#waiting.push({ number, at: performance.now(), uids: changes.put.map(({ uid }) => uid) });
  }

  #progress(upTo: number, keys: readonly ConfigKey[]): void {
    const now = performance.now();
    const passed = this.#waiting.filter(({ number }) => number <= upTo);
    if (passed.length > 0) this.#waiting = this.#waiting.slice(passed.length);
    for (const { at, uids } of passed) {
      this.#parts.metrics.programmedSeconds.observe((now - at) / 1000);
      for (const uid of uids) this.#statuses.add(uid);
    }
    for (const key of keys) this.#statuses.add(uidOf(key));
  }

  async #writeStatus(uid: string): Promise<ReconcileResult | undefined> {
    const written = await this.#writer.write(uid);
    if (written === undefined) return undefined;
    if (typeof written === 'number') return { requeueAfterMs: written };
    if (written.wrote) this.#parts.metrics.statusWrites.inc();
    this.#parts.onStatus?.(written);
    const project = this.#fields.setReady(written);
    if (project !== undefined) this.#statuses.addAfter(project, COUNT_DELAY_MS);
    return undefined;
  }

  async #refreshAccounts(): Promise<void> {
    const { source, desired, keys } = this.#parts;
    const accounts = [...desired.objects.values()].filter(({ kind }) => kind === 'Account');
    const refresh = async (account: ResourceObject): Promise<void> => {
      const { namespace, name, uid } = account.metadata;
      const fresh = await source.get({ kind: 'Account', namespace, name });
      if (fresh?.metadata.uid !== uid) desired.remove(account);
      if (fresh !== undefined) desired.put(fresh);
    };
    await inParallel(accounts, refresh);
    desired.flush();
    await inParallel([...keys.uids], (uid) => keys.read(uid));
  }
}

const inParallel = async <T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: REFRESH_WORKERS }, async () => {
      for (const item of queue) await work(item);
    }),
  );
};
