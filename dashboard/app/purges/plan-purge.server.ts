import { ownMember, parseInstant, SourceError } from '@standin/contract';
import type { Problem } from '@standin/crds';
import { parseFilter } from '@standin/exchange/search';
import type { Backend } from '../../src/backend.ts';
import { refusalMessage } from '../../src/pages/failures.ts';
import { openLog } from '../../src/projects/projects.ts';
import { checkPurge } from '../../src/purges/purges.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { isUnavailable, orUnavailable } from '../requests/read-traffic.server.ts';
import { toFormErrors, type FormErrors } from '../ui/form-errors.ts';
import { isEmpty, toNewPurge, type PurgeValues } from './purge-values.ts';

/** The number of requests that match now, or why it is unknown. */
export type Matching =
  { readonly kind: 'counted'; readonly count: number } | { readonly kind: 'unknown'; readonly message: string };

export type PlannedPurge =
  /** All fields are empty, so no requests are selected. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'invalid'; readonly errors: FormErrors }
  /** The user may not create the purge. */
  | { readonly kind: 'forbidden'; readonly message: string }
  | { readonly kind: 'plan'; readonly matching: Matching };

/** Valid values for checking the user's permission if no requests are selected yet. */
const ANY: PurgeValues = { q: '', from: '', to: '', requests: 'All' };
/** A placeholder, because the user enters the reason only in the confirmation. */
const ANY_REASON = '-';

/** The names of the form fields, by their paths in a Purge. */
const FIELDS: Readonly<Record<string, keyof PurgeValues>> = {
  'spec.filter.search': 'q',
  'spec.filter.from': 'from',
  'spec.filter.to': 'to',
  'spec.requests': 'requests',
};

/** Replaces the schema's message about an invalid time, because the form also accepts relative times. */
const NOT_A_TIME = 'must be a time, such as 2026-11-21T09:00:00Z, or 2h for two hours ago';

const inForm = (problem: Problem): Problem =>
  problem.message.includes('must be an absolute time') ? { ...problem, message: NOT_A_TIME } : problem;

const fieldErrors = (problems: readonly Problem[]): FormErrors => {
  const { fields, form } = toFormErrors(problems.map(inForm), Object.keys(FIELDS));
  return {
    fields: Object.fromEntries(
      Object.entries(fields).map(([path, messages]) => [ownMember(FIELDS, path) ?? path, messages]),
    ),
    form,
  };
};

/** Finds what a purge would delete. Creates nothing. */
export const planPurge = async (backend: Backend, project: ProjectName, values: PurgeValues): Promise<PlannedPurge> => {
  const isNothing = isEmpty(values);
  try {
    const problems = await checkPurge(backend, project, toNewPurge(isNothing ? ANY : values, ANY_REASON, new Date()));
    if (isNothing) return { kind: 'empty' };
    if (problems.length > 0) return { kind: 'invalid', errors: fieldErrors(problems) };
  } catch (error) {
    if (error instanceof SourceError && error.kind === 'Forbidden')
      return { kind: 'forbidden', message: error.message };
    return { kind: 'invalid', errors: { fields: {}, form: [refusalMessage(error)] } };
  }
  return { kind: 'plan', matching: await countMatching(backend, project, values) };
};

/**
 * Counts the matching requests. The number is unknown if the log is unavailable, or if the user may delete requests but not read
 * them.
 */
const countMatching = async (
  backend: Backend,
  project: ProjectName,
  { q, from, to, requests }: PurgeValues,
): Promise<Matching> => {
  const parsed = parseFilter(q);
  const filter =
    requests !== '' || parsed.kind === 'invalid'
      ? { untilUs: parseInstant(to) }
      : { search: parsed.filter, sinceUs: parseInstant(from), untilUs: parseInstant(to) };
  try {
    const counted = await orUnavailable((await openLog(backend, project)).count(filter).then((count) => ({ count })));
    return isUnavailable(counted)
      ? { kind: 'unknown', message: counted.unavailable }
      : { kind: 'counted', count: counted.count };
  } catch (error) {
    return { kind: 'unknown', message: refusalMessage(error) };
  }
};
