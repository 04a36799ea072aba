import {
  signingSecretIds,
  upstreamSecretIds,
  type ConfigKey,
  type ConfigObject,
  type StreamMessage,
} from '@standin/contract';

type SecretMessage = Extract<StreamMessage, { type: 'secret' | 'forget' }>;

/** Decides which secrets the gateways need: those that published endpoints refer to. */
export class PublishedSecrets {
  /** The ids that each object refers to. */
  readonly #idsByObject = new Map<ConfigKey, readonly string[]>();
  /** The number of references to each id. */
  readonly #references = new Map<string, number>();
  readonly #published = new Set<string>();
  readonly #touched = new Set<string>();

  /** Records that an object is published, or no longer published. */
  set(key: ConfigKey, object: ConfigObject | undefined): void {
    const ids = object === undefined ? [] : [...signingSecretIds(object), ...upstreamSecretIds(object)];
    for (const id of this.#idsByObject.get(key) ?? []) this.#count(id, -1);
    for (const id of ids) this.#count(id, 1);
    if (ids.length > 0) this.#idsByObject.set(key, ids);
    else this.#idsByObject.delete(key);
  }

  /** Returns the messages that the calls since the last one require. Omits secrets without a value. */
  take(secretValue: (id: string) => Uint8Array | undefined): readonly SecretMessage[] {
    const messages: SecretMessage[] = [];
    for (const id of this.#touched) {
      const value = this.#references.has(id) ? secretValue(id) : undefined;
      if (value !== undefined && !this.#published.has(id)) {
        this.#published.add(id);
        messages.push({ type: 'secret', id, value: Buffer.from(value).toString('base64') });
      }
      if (!this.#references.has(id) && this.#published.delete(id)) messages.push({ type: 'forget', id });
    }
    this.#touched.clear();
    return messages;
  }

  #count(id: string, change: number): void {
    const references = (this.#references.get(id) ?? 0) + change;
    if (references > 0) this.#references.set(id, references);
    else this.#references.delete(id);
    this.#touched.add(id);
  }
}
