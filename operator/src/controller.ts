import type { ConfigKey, ResourceObject } from '@standin/contract';
import type { Changes } from './translate/index.ts';

/**
 * A part of the operator that runs for one term, which is the time for which this replica holds the Lease. Controllers are called
 * in the order of the list in `controllers.ts`. Only `prepare` may delay the start of the term. The methods that are called for a change
 * are synchronous, and enqueue work that takes longer.
 */
export interface Controller {
  readonly name: string;
  /** Reads what must be known before the first revision is published. If the promise rejects, the term does not start. */
  prepare?(signal: AbortSignal): Promise<void>;
  /** Called when all controllers are prepared. Earlier reports from the source are not passed to `changed`. */
  start?(): void;
  /** Called after the start when the source reports an object, changed or not. `before` is undefined for a new object. */
  changed?(object: ResourceObject, before?: ResourceObject): void;
  /** Called when an object is deleted, including before the start. */
  removed?(object: ResourceObject): void;
  /**
   * Called after the start when the translation has changed. Controllers after the publisher see the revision that contains the
   * changes.
   */
  translated?(changes: Changes): void;
  /**
   * Called when gateways acknowledge a revision, or become lost or gone (see `GatewayStates`).
   *
   * @param keys objects that gateways newly reject, no longer reject or reject for another reason, and objects whose revocation is
   * complete
   */
  gatewaysChanged?(keys: readonly ConfigKey[]): void;
  /** Called when the term ends, even if it did not start. Resolves when nothing is running that could do harm after the term. */
  stop?(): Promise<void>;
}
