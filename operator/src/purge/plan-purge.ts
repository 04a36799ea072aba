import { LIMITS, parseInstant, type ResourceObject } from '@standin/contract';
import { parseObject, type PurgeSpec } from '@standin/crds';
import { parseFilter } from '@standin/exchange/search';
import type { PurgeFilter } from '@standin/logstore';
import type { CachedObjects } from '../object-cache.ts';
import { fails, invalid } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';

/** A decision about what a Purge can do now. */
export type PurgePlan =
  | { readonly kind: 'ready'; readonly filter: PurgeFilter; readonly project: ResourceObject }
  /** This Purge can never run: a new one is necessary. */
  | { readonly kind: 'refused'; readonly finding: Finding }
  /** The obstacle may disappear. The Purge waits until `untilMs`, in milliseconds since the epoch. */
  | { readonly kind: 'waiting'; readonly finding: Finding; readonly untilMs: number };

/** Creation times have a precision of seconds. */
const CREATION_PRECISION_US = 1_000_000;
/** The allowed difference between the clocks of a user and of the API server. */
const CLOCK_SKEW_US_MAX = 60_000_000;

/** Decides what a Purge can do now. Looks up the Project in the Purge's own namespace. Never throws. */
export const planPurge = (
  purge: ResourceObject,
  cache: Pick<CachedObjects, 'find'>,
  acceptedFinding: (projectUid: string) => Finding | undefined,
): PurgePlan => {
  const parsed = parseObject(purge);
  if (!parsed.ok) return { kind: 'refused', finding: invalid(parsed.problems) };
  const { projectRef, filter } = parsed.value.spec as PurgeSpec;
  const { search, from, to } = filter;
  const parsedSearch = search === undefined ? undefined : parseFilter(search);
  if (parsedSearch?.kind === 'invalid') {
    const { message } = parsedSearch.problem;
    return { kind: 'refused', finding: fails('Invalid', `spec.filter.search: ${message}`) };
  }
  // A search that consists only of spaces, for example, is probably a mistake.
  if (parsedSearch?.filter.kind === 'everything' && from === undefined) {
    const message =
      'spec.filter.search: selects all requests: to delete all requests, create a Purge with requests: All and without a search.';
    return { kind: 'refused', finding: fails('Invalid', message) };
  }
  const { namespace, creationTimestamp } = purge.metadata;
  const createdAtUs = parseInstant(creationTimestamp) ?? NaN;
  const toUs = parseInstant(to) ?? NaN;
  // A Purge that is created again, for example by a restore, must not delete requests that were received in the meantime.
  if (toUs > createdAtUs + CLOCK_SKEW_US_MAX)
    return {
      kind: 'refused',
      finding: fails('Invalid', 'spec.filter.to: must not be later than the creation of the Purge.'),
    };
  const project = cache.find({ kind: 'Project', namespace, name: projectRef.name });
  const finding =
    project === undefined
      ? fails(
          'ProjectNotFound',
          `There is no Project ${projectRef.name} in this namespace: check projectRef. To delete the requests of a deleted Project, create the Project again.`,
        )
      : notReady(acceptedFinding(project.metadata.uid), projectRef.name);
  if (project === undefined || finding !== undefined)
    return {
      kind: 'waiting',
      finding: finding ?? fails('ProjectNotFound', ''),
      untilMs: createdAtUs / 1_000 + LIMITS.purgeWaitMsMax,
    };
  return {
    kind: 'ready',
    project,
    filter: {
      projectUid: project.metadata.uid,
      namespace,
      project: projectRef.name,
      search: parsedSearch?.filter,
      sinceUs: from === undefined ? undefined : parseInstant(from),
      untilUs: Math.min(toUs, createdAtUs + CREATION_PRECISION_US),
    },
  };
};

/**
 * Returns a finding unless the Project is accepted, because a Project whose identity is not certain may have another Project's
 * requests.
 */
const notReady = (accepted: Finding | undefined, name: string): Finding | undefined =>
  accepted?.ok === true ? undefined : fails('ProjectNotReady', `Project ${name} is not valid: see its conditions.`);
