import type { ResourceObject, ResourceSource } from '@standin/contract';
import { WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { aboutObject } from '../about-object.ts';
import type { Controller } from '../controller.ts';
import type { Changes } from '../translate/index.ts';
import type { KeyOwner } from './account-keys.ts';

export interface KeySecretOwnersOptions {
  readonly source: Pick<ResourceSource, 'releaseSecret'>;
  readonly objects: ReadonlyMap<string, ResourceObject>;
  /** Returns the Account and the location of its key, or undefined if there is no such Account or its spec is invalid. */
  readonly owner: (accountUid: string) => KeyOwner | undefined;
  readonly logger: Logger;
  readonly registry: Registry;
}

/**
 * The Secrets are changed one at a time, because there may be thousands of them after an upgrade, and all writes to the API server
 * share one rate limit.
 */
const WORKERS = 1;
const BACKOFF = { baseMs: 1_000, capMs: 300_000 };

/**
 * Removes the owner references that earlier versions set on the Secrets of generated keys, so that the keys outlive their Accounts
 * (ADR 024). Runs in the background of one leader's term.
 */
export class KeySecretOwners implements Controller {
  readonly name = 'key-secret-owners';
  readonly #options: KeySecretOwnersOptions;
  readonly #queue: WorkQueue;

  constructor(options: KeySecretOwnersOptions) {
    this.#options = options;
    const { source, owner, registry, logger } = options;
    this.#queue = new WorkQueue({
      ...{ name: this.name, concurrency: WORKERS, backoff: BACKOFF, registry },
      logger: logger.child({ stage: 'keys' }),
      about: (uid) => aboutObject(options.objects, uid),
      reconcile: async (uid) => {
        const found = owner(uid);
        if (found?.generated === true) await source.releaseSecret(found.account.metadata.namespace, found.secretName);
        return undefined;
      },
    });
  }

  start(): void {
    for (const [uid, { kind }] of this.#options.objects) if (kind === 'Account') this.#queue.add(uid);
  }

  /** Enqueues the Accounts with generated keys. They may be new, or the location of their keys may have changed. */
  translated({ verdicts }: Pick<Changes, 'verdicts'>): void {
    for (const { uid, keySecret } of verdicts) if (keySecret?.generated === true) this.#queue.add(uid);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }
}
