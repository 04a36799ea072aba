import { API_KEY_DATA_KEY, SourceError, type ResourceObject, type ResourceSource } from '@standin/contract';
import type { ReconcileResult } from '@standin/kube';
import type { Logger } from 'pino';
import type { KeyState } from '../translate/index.ts';
import { apiKeyProblem, apiKeySha256, generateApiKey } from './api-key.ts';

/** Where an Account's key is to be found. */
export interface KeySecret {
  readonly secretName: string;
  /** The operator makes it; otherwise somebody brings it. */
  readonly generated: boolean;
}

export interface AccountKeysOptions {
  readonly source: ResourceSource;
  readonly logger: Logger;
  readonly onKey: (accountUid: string, state: KeyState) => void;
  /** Only a leader creates Secrets. */
  readonly isLeader: () => boolean;
  /** How often each Secret is read again: watching them would need `watch` on all Secrets. */
  readonly pollMs: number;
}

/**
 * Keeps the digest of every Account's key: reads the Secret, makes a missing generated one (leader only), and reads it again every
 * `pollMs`. Runs as the worker of a `WorkQueue` keyed by the Account's uid; errors are retried by the queue.
 */
export class AccountKeys {
  readonly #options: AccountKeysOptions;
  readonly #accounts = new Map<string, { readonly object: ResourceObject; readonly secret: KeySecret }>();
  readonly #states = new Map<string, { readonly secretName: string; readonly key: KeyState }>();

  constructor(options: AccountKeysOptions) {
    this.#options = options;
  }

  get uids(): Iterable<string> {
    return this.#accounts.keys();
  }

  set(object: ResourceObject, secret: KeySecret): void {
    this.#accounts.set(object.metadata.uid, { object, secret });
  }

  delete(accountUid: string): void {
    this.#accounts.delete(accountUid);
    this.#states.delete(accountUid);
  }

  /** What was read last, and from which Secret. */
  state(accountUid: string): { readonly secretName: string; readonly key: KeyState } | undefined {
    return this.#states.get(accountUid);
  }

  /** Reads the key, now and past all caches. */
  async read(accountUid: string): Promise<void> {
    const account = this.#accounts.get(accountUid);
    if (account === undefined) return;
    const key = await this.#read(account.object, account.secret);
    this.#states.set(accountUid, { secretName: account.secret.secretName, key });
    this.#options.onKey(accountUid, key);
  }

  async reconcile(accountUid: string): Promise<ReconcileResult | undefined> {
    if (!this.#accounts.has(accountUid)) return undefined;
    await this.read(accountUid);
    return { requeueAfterMs: this.#options.pollMs };
  }

  async #read(account: ResourceObject, secret: KeySecret): Promise<KeyState> {
    const found = await this.#lookUp(account, secret.secretName);
    if (found !== undefined) return found;
    if (!secret.generated) return { kind: 'missing', secretName: secret.secretName };
    return this.#options.isLeader() ? this.#create(account, secret.secretName) : { kind: 'pending' };
  }

  async #lookUp(account: ResourceObject, secretName: string): Promise<KeyState | undefined> {
    const bytes = await this.#options.source.readSecret(account.metadata.namespace, secretName, API_KEY_DATA_KEY);
    if (bytes === undefined) return undefined;
    const key = Buffer.from(bytes).toString('utf8');
    const message = apiKeyProblem(key);
    return message === undefined
      ? { kind: 'key', sha256: apiKeySha256(key) }
      : { kind: 'invalid', secretName, message };
  }

  async #create(account: ResourceObject, secretName: string): Promise<KeyState> {
    const { source, logger } = this.#options;
    const key = generateApiKey();
    try {
      await source.createSecret(account, secretName, { [API_KEY_DATA_KEY]: key });
    } catch (error) {
      if (!(error instanceof SourceError && error.kind === 'Conflict')) throw error;
      // Made by the leader before us a moment ago, or a Secret of that name with something else in it.
      const message = `it exists without the data key ${API_KEY_DATA_KEY}: add it, or delete the Secret`;
      return (await this.#lookUp(account, secretName)) ?? { kind: 'invalid', secretName, message };
    }
    const { namespace, name } = account.metadata;
    logger.info({ namespace, name, secretName }, 'API key generated');
    const message = `API key generated in Secret ${secretName}.`;
    await source.recordEvent(account, { type: 'Normal', reason: 'KeyGenerated', message });
    return { kind: 'key', sha256: apiKeySha256(key) };
  }
}
