import { formatShortTime, LIMITS, parseInstant, type ResourceObject } from '@standin/contract';
import { durationMs, parseObject, type ExpectationSpec } from '@standin/crds';
import { parseFilter, type ParseResult } from '@standin/exchange/search';
import type { EachFilter } from '@standin/logstore';
import type { CachedObjects } from '../object-cache.ts';
import { fails, invalid } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';
import type { ExpectedCount } from './decide.ts';

/** Requests received at `fromUs` or later and before `untilUs`, in microseconds since the epoch. */
export interface TimeRange {
  readonly fromUs: number;
  readonly untilUs: number;
}

/** What an Expectation counts. */
export interface ReadyExpectation {
  readonly kind: 'ready';
  readonly range: TimeRange;
  readonly expected: ExpectedCount;
  readonly project: ResourceObject;
  readonly filter: EachFilter;
  /** Undefined if all requests of the time range match. */
  readonly search: ParsedSearch | undefined;
  readonly searchLength: number;
}

type ParsedSearch = Extract<ParseResult, { kind: 'parsed' }>;

/** A decision about what an Expectation can do now. */
export type ExpectationPlan =
  | ReadyExpectation
  /** It can never be decided: a new one is necessary. */
  | { readonly kind: 'refused'; readonly finding: Finding }
  /** The obstacle may disappear before the deadline. */
  | { readonly kind: 'waiting'; readonly finding: Finding; readonly range: TimeRange };

const SECOND_US = 1_000_000;

/** Decides what an Expectation can do now. Looks up the Project in the Expectation's own namespace. Never throws. */
export const planExpectation = (
  expectation: ResourceObject,
  cache: Pick<CachedObjects, 'find'>,
  acceptedFinding: (projectUid: string) => Finding | undefined,
): ExpectationPlan => {
  const parsed = parseObject(expectation);
  if (!parsed.ok) return { kind: 'refused', finding: invalid(parsed.problems) };
  const spec = parsed.value.spec as ExpectationSpec;
  const range = timeRange(expectation, spec);
  if ('ok' in range) return { kind: 'refused', finding: range };
  const search = spec.filter && parseFilter(spec.filter.search);
  if (search?.kind === 'invalid') {
    const { message, from } = search.problem;
    const finding = fails('Invalid', `spec.filter.search: at character ${from + 1}: ${message}`, 'spec.filter.search');
    return { kind: 'refused', finding };
  }
  const { namespace } = expectation.metadata;
  const { name } = spec.projectRef;
  const project = cache.find({ kind: 'Project', namespace, name });
  if (project === undefined)
    return {
      kind: 'waiting',
      finding: fails('ProjectNotFound', `There is no Project ${name} in this namespace: check projectRef.`),
      range,
    };
  const { uid } = project.metadata;
  const accepted = acceptedFinding(uid);
  if (accepted === undefined)
    return { kind: 'waiting', finding: fails('Pending', `The operator has not checked Project ${name} yet.`), range };
  // A Project whose identity is not certain may have another Project's requests.
  if (!accepted.ok)
    return {
      kind: 'waiting',
      finding: fails('ProjectNotReady', `Project ${name} is not valid: see its conditions.`),
      range,
    };
  const { min = 0, max = Infinity } = spec.count;
  return {
    kind: 'ready',
    range,
    expected: { min, max },
    project,
    filter: {
      projectUid: uid,
      namespace,
      project: name,
      search: search?.filter,
      sinceUs: range.fromUs,
      untilUs: range.untilUs,
    },
    search: search?.filter.kind === 'everything' ? undefined : search,
    searchLength: spec.filter?.search.length ?? 0,
  };
};

/**
 * Creation times have a precision of seconds. So the time range begins with the second of the creation, and the deadline is counted from
 * its end: no request of a client that waited for the creation is too early, and none within the deadline is too late.
 */
const timeRange = ({ metadata }: ResourceObject, { from, deadline }: ExpectationSpec): TimeRange | Finding => {
  const createdAtUs = Math.floor((parseInstant(metadata.creationTimestamp) ?? NaN) / SECOND_US) * SECOND_US;
  if (Number.isNaN(createdAtUs))
    return fails('Invalid', 'metadata.creationTimestamp: is not a time: create another Expectation.');
  const untilUs = createdAtUs + SECOND_US + durationMs(deadline) * 1_000;
  const fromUs = (from === undefined ? undefined : parseInstant(from)) ?? createdAtUs;
  if (fromUs >= untilUs)
    return fails(
      'Invalid',
      `spec.from: must be before the deadline, which is ${formatShortTime(untilUs)}.`,
      'spec.from',
    );
  if (fromUs < createdAtUs - LIMITS.expectationLeadMsMax * 1_000) {
    const hours = LIMITS.expectationLeadMsMax / 3_600_000;
    return fails(
      'Invalid',
      `spec.from: must be at most ${hours} hours before the creation of the Expectation.`,
      'spec.from',
    );
  }
  return { fromUs, untilUs };
};
