import type { ConfigKey, ResourceObject } from '@standin/contract';
import type { Changes } from './translate/index.ts';

/**
 * One concern of the leading operator, for one term. The leader calls the controllers in the order of its list. Only `prepare` may
 * take time before the work begins: the other methods record a change and enqueue the keys that it concerns.
 */
export interface Controller {
  readonly name: string;
  /** Reads what must be known before the first revision is published. The leader does not lead if it rejects. */
  prepare?(signal: AbortSignal): Promise<void>;
  /** The term starts. Enqueues everything that the source has reported so far. */
  start?(): void;
  /** The source reports an object, changed or not. */
  changed?(object: ResourceObject): void;
  /** The object was deleted. Also called before the start. */
  removed?(object: ResourceObject): void;
  /** The translation has changed. Controllers after the publisher see the revision that contains the changes. */
  translated?(changes: Changes): void;
  /**
   * Gateways acknowledged a revision, were forgotten, or are gone.
   *
   * @param keys objects that are newly rejected, no longer rejected, or whose revocation is complete
   */
  gatewaysChanged?(keys: readonly ConfigKey[]): void;
  /** The term ends. Resolves when nothing of it runs. Also called if the term did not start. */
  stop?(): Promise<void>;
}
