import { LIMITS, type ResourceObject } from '@standin/contract';
import { z } from 'zod';

/** The regenerations recorded in an Account's status. Unreadable data counts as none. */
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
  /** RFC 3339, oldest first: the regenerations that still count. */
  readonly recent: readonly string[];
  /** RFC 3339: when the oldest of them stops counting. Undefined: none counts. */
  readonly resetsAt: string | undefined;
  /** How many more regenerations are allowed now. */
  readonly left: number;
  /** The KeyRegeneration in progress. */
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
