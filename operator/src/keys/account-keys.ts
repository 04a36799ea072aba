import { API_KEY_DATA_KEY, SourceError, type Events, type ResourceObject, type Secrets } from '@standin/contract';
import type { Logger } from 'pino';
import type { KeyState, KnownKey } from '../translate/index.ts';
import { apiKeyProblem, apiKeySha256, generateApiKey } from './api-key.ts';

/** An Account and the location of its key. */
export interface KeyOwner {
  readonly account: ResourceObject;
  readonly secretName: string;
  /** Whether the operator generates the key. If not, the user provides the key. */
  readonly generated: boolean;
}

export interface AccountKeysOptions {
  readonly secrets: Pick<Secrets, 'read' | 'create'>;
  readonly events: Events;
  readonly logger: Logger;
  /** Returns the Account and the location of its key, or undefined if there is no such Account or its spec is invalid. */
  readonly owner: (accountUid: string) => KeyOwner | undefined;
  readonly onKey: (accountUid: string, state: KeyState) => void;
}

const PENDING: KeyState = { kind: 'pending' };

/**
 * The states of all Accounts' keys, for one leader's term: the digest of a key, or why there is none. Reads each Secret by name,
 * and creates the Secrets of generated keys.
 */
export class AccountKeys {
  readonly #options: AccountKeysOptions;
  readonly #known = new Map<string, KnownKey>();

  constructor(options: AccountKeysOptions) {
    this.#options = options;
  }

  forget(accountUid: string): void {
    this.#known.delete(accountUid);
  }

  /** Returns the account's key, or undefined until it has been read. */
  known(accountUid: string): KnownKey | undefined {
    return this.#known.get(accountUid);
  }

  /**
   * Reads the account's Secret, bypassing all caches. Creates a missing Secret if its key is generated. Resolves with false if
   * there is no such Account or its spec is invalid.
   */
  async read(accountUid: string): Promise<boolean> {
    const owner = this.#options.owner(accountUid);
    if (owner === undefined) return false;
    await this.#readFor(accountUid, owner, () => this.#create(owner));
    return true;
  }

  /** As `read`, but writes nothing. While the Secret of a generated key is missing, the Account has no key, and `known` returns undefined. */
  async readExisting(accountUid: string): Promise<void> {
    const owner = this.#options.owner(accountUid);
    if (owner !== undefined) await this.#readFor(accountUid, owner, () => Promise.resolve(PENDING));
  }

  /** @param create called if the Secret of a generated key is missing */
  async #readFor(accountUid: string, owner: KeyOwner, create: () => Promise<KeyState>): Promise<void> {
    const { secretName } = owner;
    const key = await this.#read(owner, create).catch((error: unknown) => {
      const refusal = readRefusal(error);
      // An active key stays active while a permission is missing.
      if (refusal === undefined || this.#hasKey(accountUid, secretName)) throw error;
      return { kind: 'invalid', secretName, message: refusal } as const;
    });
    // While the Secret was being read, the Account was deleted or changed to refer to another Secret.
    if (this.#options.owner(accountUid)?.secretName !== secretName) return;
    if (key.kind === 'pending') this.#known.delete(accountUid);
    else this.#known.set(accountUid, { secretName, key });
    this.#options.onKey(accountUid, key);
  }

  #hasKey(accountUid: string, secretName: string): boolean {
    const known = this.#known.get(accountUid);
    return known?.secretName === secretName && known.key.kind === 'key';
  }

  async #read({ account, secretName, generated }: KeyOwner, create: () => Promise<KeyState>): Promise<KeyState> {
    const found = await this.#lookUp(account, secretName);
    if (found !== undefined) return found;
    return generated ? create() : { kind: 'missing', secretName };
  }

  async #lookUp(account: ResourceObject, secretName: string): Promise<KeyState | undefined> {
    const bytes = await this.#options.secrets.read(account.metadata.namespace, secretName, API_KEY_DATA_KEY);
    if (bytes === undefined) return undefined;
    const key = Buffer.from(bytes).toString('utf8');
    const message = apiKeyProblem(key);
    return message === undefined
      ? { kind: 'key', sha256: apiKeySha256(key) }
      : { kind: 'invalid', secretName, message };
  }

  async #create({ account, secretName }: KeyOwner): Promise<KeyState> {
    const { secrets, events, logger } = this.#options;
    const key = generateApiKey();
    try {
      await secrets.create(account, secretName, { [API_KEY_DATA_KEY]: key });
    } catch (error) {
      if (!(error instanceof SourceError && error.kind === 'Conflict')) throw error;
      // The previous leader has just created the Secret, or a Secret with that name has other content.
      const message = `it does not contain the data key ${API_KEY_DATA_KEY}: add this data key, or delete the Secret`;
      return (await this.#lookUp(account, secretName)) ?? { kind: 'invalid', secretName, message };
    }
    const { namespace, name } = account.metadata;
    logger.info({ namespace, name, secretName }, 'API key generated');
    const message = `API key generated in Secret ${secretName}.`;
    await events.record(account, { type: 'Normal', reason: 'KeyGenerated', message });
    return { kind: 'key', sha256: apiKeySha256(key) };
  }
}

/** Returns an error that concerns only this Secret, as text for the condition, or undefined if a retry may help. */
export const readRefusal = (error: unknown): string | undefined => {
  if (!(error instanceof SourceError)) return undefined;
  switch (error.kind) {
    case 'Unauthorized':
    case 'Forbidden':
      return `the operator lacks a permission (${error.message})`;
    case 'Invalid':
      return error.message;
    case 'NotFound':
    case 'Conflict':
    case 'Unavailable':
      return undefined;
  }
};
