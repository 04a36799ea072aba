import { LIMITS, type ResourceObject } from '@standin/contract';
import { readStatus } from './read-status.ts';

export interface RegenerationWindow {
  /** The times of the regenerations that still count, in RFC 3339, oldest first. */
  readonly recent: readonly string[];
  /** When the oldest of them no longer counts toward the limit, in RFC 3339. Undefined if none counts. */
  readonly resetsAt: string | undefined;
  /** How many more regenerations are allowed now. */
  readonly left: number;
  /** The KeyRegeneration in progress. */
  readonly current: { readonly name: string; readonly uid: string } | undefined;
}

/**
 * Returns how often an Account's key may be regenerated now.
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
