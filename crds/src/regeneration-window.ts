import { LIMITS, type ResourceObject } from '@standin/contract';
import { z } from 'zod';

/** What an Account's status remembers of regenerations; anything that cannot be read counts as nothing. */
const accountStatus = z
  .looseObject({
    apiKey: z
      .looseObject({
        regenerations: z.array(z.string()).catch([]).default([]),
        regenerating: z.looseObject({ name: z.string(), uid: z.string() }).optional().catch(undefined),
      })
      .catch({ regenerations: [] })
      .default({ regenerations: [] }),
  })
  .catch({ apiKey: { regenerations: [] } });

export interface RegenerationWindow {
  /** RFC 3339, the oldest first: regenerations that still count. */
  readonly recent: readonly string[];
  /** RFC 3339: when the first of them does not count any more; undefined when none does. */
  readonly resetsAt: string | undefined;
  /** How many more there may be now. */
  readonly left: number;
  /** The KeyRegeneration that is under way. */
  readonly current: { readonly name: string; readonly uid: string } | undefined;
}

/**
 * How often an Account's key may be regenerated now.
 *
 * @param now milliseconds since the epoch
 */
export const regenerationWindow = ({ status }: Pick<ResourceObject, 'status'>, now: number): RegenerationWindow => {
  const { regenerations, regenerating } = accountStatus.parse(status ?? {}).apiKey;
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
