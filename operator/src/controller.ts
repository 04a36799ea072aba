import type { ConfigKey, ResourceObject } from '@standin/contract';
import type { Changes } from './translate/index.ts';

/**
 * A part of the leading operator, for one term. The leader calls the controllers in the order of its list. Only `prepare` may
 * delay the start of the term. The other methods record a change and enqueue the affected keys.
 */
export interface Controller {
  readonly name: string;
  /** Reads what must be known before the first revision is published. If the promise rejects, the operator does not lead. */
  prepare?(signal: AbortSignal): Promise<void>;
  /** Called when the term starts. Enqueues everything that the source has reported so far. */
  start?(): void;
  /** Called when the source reports an object, changed or not. */
  changed?(object: ResourceObject): void;
  /** Called when an object is deleted, including before the start. */
  removed?(object: ResourceObject): void;
  /** Called when the translation has changed. Controllers after the publisher see the revision that contains the changes. */
  translated?(changes: Changes): void;
  /**
   * Called when gateways acknowledge a revision, are forgotten, or are gone.
   *
   * @param keys objects that are newly rejected, no longer rejected, or whose revocation is complete
   */
  gatewaysChanged?(keys: readonly ConfigKey[]): void;
  /** Called when the term ends, even if it did not start. Resolves when nothing from the term is running. */
  stop?(): Promise<void>;
}
