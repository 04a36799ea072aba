import { LIMITS, type ResourceObject } from '@standin/contract';
import { readStatus } from './read-status.ts';

export interface RegenerationWindow {
  /** The times of the regenerations that still count, in RFC 3339, with the oldest first. */
  readonly recent: readonly string[];
  /**
   * The time when the oldest of these regenerations no longer counts toward the limit, in RFC 3339. Undefined if no regeneration
   * counts.
   */
  readonly resetsAt: string | undefined;
  /** How many more regenerations are allowed now. */
  readonly left: number;
  /** The KeyRegeneration in progress. */
  readonly current: { readonly name: string; readonly uid: string } | undefined;
}

/**
 * Returns the recent regenerations of an Account's key, and how many more are allowed now.
 *
 * @param now milliseconds since the epoch
 */
export const regenerationWindow = ({ status }: Pick<ResourceObject, 'status'>, now: number): RegenerationWindow => {
  const { regenerations = [], regenerating } = readStatus('Account', status).apiKey ?? {};
  const { keyRegenerationsMax, keyRegenerationWindowMs } = LIMITS;
  const recent = regenerations.filter((time) => now - Date.parse(time) < keyRegenerationWindowMs).sort();
  const [first] = recent;
  return {
    recent,
    resetsAt: first === undefined ? undefined : new Date(Date.parse(first) + keyRegenerationWindowMs).toISOString(),
    left: Math.max(0, keyRegenerationsMax - recent.length),
    current: regenerating,
  };
};
