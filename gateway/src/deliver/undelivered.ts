import { LIMITS, type Undelivered } from '@standin/contract';
import { OldestRequests } from '../request/oldest-requests.ts';

interface Holder {
  /** Adds the requests that this part of the gateway has and the log may not have. */
  addOldest(to: OldestRequests): void;
}

/** A request that ends at once is in the log after this time. Projects that have only such requests are not named. */
const USUAL_MS = 2 * LIMITS.flushIntervalMsMax;

/**
 * Returns what the gateway has and the log does not have yet. Undefined if it is unknown.
 *
 * @param quarantined the projects of the rows in quarantine, and undefined for those whose project is unknown
 */
export const undeliveredOf = (
  holders: readonly Holder[],
  quarantined: ReadonlySet<string | undefined>,
  nowMs = performance.now(),
): Undelivered | undefined => {
  const oldest = new OldestRequests();
  for (const holder of holders) holder.addOldest(oldest);
  const ageMs = new Map([...oldest.byProject].map(([uid, receivedMs]) => [uid, nowMs - receivedMs]));
  const late = [...ageMs].filter(([, ms]) => ms > USUAL_MS).sort(([, one], [, other]) => other - one);
  const known = [...quarantined].filter((uid) => uid !== undefined);
  const named = new Set([...known, ...late.map(([uid]) => uid)].slice(0, LIMITS.undeliveredProjectsMax));
  let othersMs = Math.max(0, nowMs - oldest.ofAnyProject);
  for (const [uid, ms] of ageMs) if (!named.has(uid)) othersMs = Math.max(othersMs, ms);
  if (othersMs === Infinity) return undefined;
  return {
    ageMs: Math.ceil(othersMs),
    hasQuarantine: quarantined.has(undefined) || known.some((uid) => !named.has(uid)),
    projects: [...named].map((uid) => ({
      uid,
      ageMs: Math.ceil(Math.max(othersMs, ageMs.get(uid) ?? 0)),
      hasQuarantine: quarantined.has(uid),
    })),
  };
};
