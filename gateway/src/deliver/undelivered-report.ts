import { LIMITS, SharedPool, type Undelivered } from '@standin/contract';
import { OldestRequests } from '../request/oldest-requests.ts';

interface Holder {
  /** Adds the requests that this part of the gateway has and the log may not have. */
  addOldest(to: OldestRequests): void;
}

interface Waiting {
  readonly namespace: string;
  readonly ageMs: number;
  readonly hasQuarantine: boolean;
}

/** A request that ends at once is in the log after this time. Projects that have only such requests are not named. */
const USUAL_MS = 2 * LIMITS.flushIntervalMsMax;

/**
 * Returns what the gateway has and the log does not have yet. Undefined if it is unknown. If there are too many projects to name all
 * of them, each namespace has its share of the names, and its other projects share the age of their oldest request.
 *
 * @param quarantined the projects of the rows in quarantine, and undefined for those whose project is unknown, with their namespaces
 */
export const undeliveredReport = (
  holders: readonly Holder[],
  quarantined: ReadonlyMap<string | undefined, string>,
  nowMs = performance.now(),
): Undelivered | undefined => {
  const oldest = new OldestRequests();
  for (const holder of holders) holder.addOldest(oldest);
  const requests = [...oldest.byProject]
    .map(([uid, { receivedMs, namespace }]) => ({ uid, namespace, ageMs: nowMs - receivedMs }))
    .sort((one, other) => other.ageMs - one.ageMs);
  const waiting = new Map<string, Waiting>();
  for (const [uid, namespace] of quarantined)
    if (uid !== undefined) waiting.set(uid, { namespace, ageMs: 0, hasQuarantine: true });
  let othersMs = Math.max(0, nowMs - oldest.ofAnyProject);
  for (const { uid, namespace, ageMs } of requests) {
    const hasQuarantine = waiting.has(uid);
    if (hasQuarantine || ageMs > USUAL_MS) waiting.set(uid, { namespace, ageMs, hasQuarantine });
    else othersMs = Math.max(othersMs, ageMs);
  }
  if (othersMs === Infinity) return undefined;
  const { named, unnamed } = byShares(waiting);
  // So many namespaces are unlikely, but the operator would refuse the report.
  const rest = unnamed.splice(LIMITS.undeliveredProjectsMax);
  for (const [, { ageMs }] of rest) othersMs = Math.max(othersMs, ageMs);
  const reported = ({ ageMs, hasQuarantine }: Omit<Waiting, 'namespace'>) => ({
    ageMs: Math.ceil(Math.max(othersMs, ageMs)),
    hasQuarantine,
  });
  return {
    ageMs: Math.ceil(othersMs),
    hasQuarantine: quarantined.has(undefined) || rest.some(([, { hasQuarantine }]) => hasQuarantine),
    projects: named.map(([uid, project]) => ({ uid, ...reported(project) })),
    ...(unnamed.length > 0 && {
      namespaces: unnamed.map(([namespace, projects]) => ({ namespace, ...reported(projects) })),
    }),
  };
};

/** Divides the projects into those that a report names, and all others of each namespace. */
const byShares = (waiting: ReadonlyMap<string, Waiting>) => {
  const max = LIMITS.undeliveredProjectsMax;
  const shares = new SharedPool(max);
  const unnamed = new Map<string, Omit<Waiting, 'namespace'>>();
  const named = [...waiting].filter(([, { namespace, ageMs, hasQuarantine }]) => {
    if (waiting.size <= max || shares.take(namespace)) return true;
    const others = unnamed.get(namespace);
    unnamed.set(namespace, {
      ageMs: Math.max(ageMs, others?.ageMs ?? 0),
      hasQuarantine: hasQuarantine || others?.hasQuarantine === true,
    });
    return false;
  });
  return { named, unnamed: [...unnamed] };
};
