import { API_KEY_DATA_KEY, SourceError, type ResourceObject, type ResourceSource } from '@standin/contract';
import type { Logger } from 'pino';
import type { KeyState, KnownKey } from '../translate/index.ts';
import { apiKeyProblem, apiKeySha256, generateApiKey } from './api-key.ts';

/** An Account, and where its key is to be found. */
export interface KeyOwner {
  readonly account: ResourceObject;
  readonly secretName: string;
  /** The operator makes it; otherwise somebody brings it. */
  readonly generated: boolean;
}

export interface AccountKeysOptions {
  readonly source: ResourceSource;
  readonly logger: Logger;
  /** Undefined when there is no such Account, or its spec is invalid. */
  readonly owner: (accountUid: string) => KeyOwner | undefined;
  readonly onKey: (accountUid: string, state: KeyState) => void;
}

/** The digests of all Accounts' keys, for one leader's term. Reads each Secret by its name, and makes those that are to be generated. */
export class AccountKeys {
  readonly #options: AccountKeysOptions;
  readonly #known = new Map<string, KnownKey>();

  constructor(options: AccountKeysOptions) {
    this.#options = options;
  }

  forget(accountUid: string): void {
    this.#known.delete(accountUid);
  }

  /** Undefined until it was read. */
  known(accountUid: string): KnownKey | undefined {
    return this.#known.get(accountUid);
  }

  /** Reads the Secret, past all caches. False if there is no Account that has one. */
  async read(accountUid: string): Promise<boolean> {
    const owner = this.#options.owner(accountUid);
    if (owner === undefined) return false;
    const { secretName } = owner;
    const key = await this.#read(owner).catch((error: unknown) => {
      const refusal = refusalOf(error);
      // A key that is in force stays in force while a right is missing.
      if (refusal === undefined || this.#hasKey(accountUid, secretName)) throw error;
      return { kind: 'invalid', secretName, message: refusal } as const;
    });
    // Deleted, or another Secret named, while it was read.
    if (this.#options.owner(accountUid)?.secretName !== secretName) return true;
    this.#known.set(accountUid, { secretName, key });
    this.#options.onKey(accountUid, key);
    return true;
  }

  #hasKey(accountUid: string, secretName: string): boolean {
    const known = this.#known.get(accountUid);
    return known?.secretName === secretName && known.key.kind === 'key';
  }

  async #read({ account, secretName, generated }: KeyOwner): Promise<KeyState> {
    const found = await this.#lookUp(account, secretName);
    if (found !== undefined) return found;
    return generated ? this.#create(account, secretName) : { kind: 'missing', secretName };
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

/** A refusal that concerns this Secret only, in words for the condition; undefined: another try may help. */
const refusalOf = (error: unknown): string | undefined => {
  if (!(error instanceof SourceError)) return undefined;
  switch (error.kind) {
    case 'Unauthorized':
    case 'Forbidden':
      return `the operator lacks a right (${error.message})`;
    case 'Invalid':
      return error.message;
    case 'NotFound':
    case 'Conflict':
    case 'Unavailable':
      return undefined;
  }
};
