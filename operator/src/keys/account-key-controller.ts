import { configKey, type Objects, type ResourceObject } from '@standin/contract';
import type { WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Controller } from '../controller.ts';
import type { DesiredState } from '../desired-state.ts';
import type { CachedObjects } from '../object-cache.ts';
import { objectQueue } from '../reconciler.ts';
import { isOlder } from '../resource-version.ts';
import type { Changes, KnownKey, Translator } from '../translate/index.ts';
import { AccountKeys, type AccountKeysOptions, type KeyOwner } from './account-keys.ts';
import { inParallel, READERS } from './in-parallel.ts';

export interface AccountKeyControllerOptions extends Pick<AccountKeysOptions, 'secrets' | 'events'> {
  readonly objects: Pick<Objects, 'get'>;
  readonly cache: CachedObjects;
  readonly desired: Pick<DesiredState, 'setKey' | 'put' | 'remove' | 'flush'>;
  readonly translator: Translator;
  /** The interval at which each Secret is read again. Watching the Secrets would require `watch` on all Secrets. */
  readonly pollMs: number;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** The delay between retries is short, because requests are rejected until the key of their Account is published. */
const BACKOFF = { baseMs: 100, capMs: 10_000 };

/** Decides when each Account's Secret is read, for one leader's term. `AccountKeys` reads the Secret. */
export class AccountKeyController implements Controller {
  readonly name = 'keys';
  readonly #options: AccountKeyControllerOptions;
  readonly #keys: AccountKeys;
  readonly #queue: WorkQueue;

  constructor(options: AccountKeyControllerOptions) {
    this.#options = options;
    const { secrets, events, desired, pollMs, logger } = options;
    this.#keys = new AccountKeys({
      secrets,
      events,
      logger: logger.child({ stage: 'keys' }),
      owner: (uid) => this.owner(uid),
      onKey: (uid, state) => desired.setKey(uid, state),
    });
    this.#queue = objectQueue(options, {
      name: this.name,
      stage: 'keys',
      concurrency: READERS,
      backoff: BACKOFF,
      reconcile: async (uid) => ((await this.#keys.read(uid)) ? { requeueAfterMs: pollMs } : undefined),
    });
  }

  /**
   * Reads Accounts and Secrets, bypassing all caches. Writes nothing, because a tenant may have thousands of Accounts without a Secret:
   * these have no key until `start` has created it. Rejects if an Account cannot be read, or if a Secret cannot be read and a retry may
   * help.
   */
  async prepare(signal: AbortSignal): Promise<void> {
    await inParallel(this.#accounts(), signal, (uid) => this.#refresh(uid));
    this.#options.desired.flush();
    await inParallel(this.#accounts(), signal, (uid) => this.#keys.readExisting(uid));
    this.#options.desired.flush();
  }

  start(): void {
    for (const uid of this.#accounts()) this.#queue.addAfter(uid, this.#nextReadMs(uid));
  }

  /** Enqueues the Accounts in `verdicts`, because the location of their keys may have changed. */
  translated({ verdicts }: Pick<Changes, 'verdicts'>): void {
    for (const { uid, keySecret } of verdicts) if (keySecret !== undefined) this.#queue.add(uid);
  }

  removed({ metadata }: ResourceObject): void {
    this.#keys.forget(metadata.uid);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  /** Reads the account's Secret soon, so that its key is published. */
  enqueue(accountUid: string): void {
    this.#queue.add(accountUid);
  }

  /** Returns the account's key, or undefined until it has been read. */
  known(accountUid: string): KnownKey | undefined {
    return this.#keys.known(accountUid);
  }

  /** Returns the Account and the location of its key, or undefined if there is no such Account or its spec is invalid. */
  owner(accountUid: string): KeyOwner | undefined {
    const { cache, translator } = this.#options;
    const account = cache.get(accountUid);
    const secret = translator.verdict(accountUid)?.keySecret;
    return account === undefined || secret === undefined ? undefined : { account, ...secret };
  }

  /** Returns whether the key with this digest is published. */
  isPublished(accountUid: string, sha256: string): boolean {
    const published = this.#options.translator.published(configKey({ kind: 'Account', uid: accountUid }));
    return published?.kind === 'Account' && published.keySha256 === sha256;
  }

  /** Returns whether every account's key has been read. */
  isComplete(): boolean {
    return this.#accounts().every((uid) => this.owner(uid) === undefined || this.known(uid) !== undefined);
  }

  #accounts(): string[] {
    return Array.from(this.#options.cache.ofKind('Account'), ({ metadata }) => metadata.uid);
  }

  /**
   * Returns the delay until the next read. The reads are spread over the interval, so that the Secrets are not all read at the same
   * time. The delay is 0 if the Account was added, or the location of its key changed, while the term began.
   */
  #nextReadMs(uid: string): number {
    const isRead = this.known(uid)?.secretName === this.owner(uid)?.secretName;
    return isRead ? this.#options.pollMs * Math.random() : 0;
  }

  async #refresh(uid: string): Promise<void> {
    const { objects, cache, desired } = this.#options;
    const account = cache.get(uid);
    if (account === undefined) return;
    const { namespace, name } = account.metadata;
    const fresh = await objects.get({ kind: 'Account', namespace, name });
    const known = cache.get(uid);
    // In the meantime, the source has reported a newer version of the Account, its deletion, or that it exceeds the namespace's limit.
    if (known === undefined || known.isBeyondLimit === true || (fresh?.metadata.uid === uid && isOlder(fresh, known)))
      return;
    if (fresh?.metadata.uid !== uid) desired.remove(known);
    if (fresh !== undefined) desired.put(fresh);
  }
}
