import { formatShortTime, LIMITS, ownMember, parseInstant } from '@standin/contract';
import type { LogSummary } from '@standin/exchange';
import { parseFilter } from '@standin/exchange/search';
import { getProject, openLog } from '../../src/projects/projects.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import type { Backend } from '../../src/backend.ts';
import { toFormErrors, type FormErrors } from '../ui/form-errors.ts';
import { checkForm } from '../ui/save-form.server.ts';
import { effectiveRetentionDays } from '../../src/resources/specs.ts';
import { isUnavailable, orUnavailable } from '../requests/read-traffic.server.ts';
import { readTimeRange, resolveRange } from '../requests/time-range.ts';
import { newReplayName } from '../../src/replays/replays.ts';
import { replayCommands, type ReplayCommands } from './replay-commands.server.ts';
import { BULK_FIELDS, toBulkReplay, type BulkValues } from './replay-values.ts';

/** The number of requests that are shown, so that users can check the search. */
const SAMPLE = 5;
const DAY_MS = 24 * 3_600_000;

export interface PlannedRequest extends Pick<
  LogSummary,
  'id' | 'method' | 'path' | 'status' | 'receivedAt' | 'endpoint'
> {
  readonly query: string;
}

/** A preview of a bulk replay. */
export interface ReplayPlanView {
  /** The number of requests that the replay would send, which is at most `LIMITS.replayRequestsMax`. */
  readonly count: number;
  /** The number of matching requests beyond `LIMITS.replayRequestsMax`, which the replay would not send. */
  readonly more: number;
  readonly seconds: number;
  /** The oldest requests, which are sent first. */
  readonly sample: readonly PlannedRequest[];
}

export type Planned =
  | { readonly kind: 'plan'; readonly plan: ReplayPlanView; readonly commands: ReplayCommands }
  /**
   * The range has no fixed start and end, which means that neither a search nor a time range is set. Empty fields must never select
   * all requests.
   */
  | { readonly kind: 'empty' }
  | { readonly kind: 'invalid'; readonly errors: FormErrors }
  | { readonly kind: 'unavailable'; readonly message: string };

/**
 * Converts relative and open-ended times to fixed times. Fixed times exclude requests that arrive during the replay, including the
 * replay's own requests.
 */
export const fixedRange = async (
  backend: Backend,
  params: ProjectName,
  { from, to }: Pick<BulkValues, 'from' | 'to'>,
): Promise<Pick<BulkValues, 'from' | 'to'>> => {
  const now = new Date();
  const { sinceUs, untilUs } = resolveRange(readTimeRange(from, to), now);
  const retentionDays = effectiveRetentionDays(await getProject(backend, params)) ?? LIMITS.retentionDaysDefault;
  const oldestMs = now.getTime() - retentionDays * DAY_MS;
  return { from: formatShortTime(sinceUs ?? oldestMs * 1_000), to: formatShortTime(untilUs ?? now.getTime() * 1_000) };
};

export const isFixed = ({ from, to }: Pick<BulkValues, 'from' | 'to'>): boolean =>
  [from, to].every((time) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(time));

const invalid = (errors: FormErrors): Planned => ({ kind: 'invalid', errors });
const fieldErrors = ({ fields, form }: FormErrors): FormErrors => ({
  fields: Object.fromEntries(
    Object.entries(fields).map(([path, messages]) => [ownMember(BULK_FIELDS, path) ?? path, messages]),
  ),
  form,
});

/** Returns the problems that the API server and the search parser report. Creates nothing. */
const checkValues = async ({ resources }: Backend, params: ProjectName, values: BulkValues): Promise<FormErrors> => {
  const parsed = parseFilter(values.q);
  if (parsed.kind === 'invalid') return { fields: { q: [parsed.problem.message] }, form: [] };
  const object = toBulkReplay(values, { ...params, name: newReplayName() });
  const checked = await checkForm(resources.check(object, 'absent'), (problems) =>
    fieldErrors(toFormErrors(problems, Object.keys(BULK_FIELDS))),
  );
  return checked.errors;
};

/** Determines what a replay would send and the minimum time that it would take. */
export const planReplay = async (backend: Backend, params: ProjectName, values: BulkValues): Promise<Planned> => {
  if (!isFixed(values)) return { kind: 'empty' };
  const errors = await checkValues(backend, params, values);
  if (Object.keys(errors.fields).length > 0 || errors.form.length > 0) return invalid(errors);
  const parsed = parseFilter(values.q);
  if (parsed.kind === 'invalid') return { kind: 'empty' };
  const filter = { search: parsed.filter, sinceUs: parseInstant(values.from), untilUs: parseInstant(values.to) };
  const log = await openLog(backend, params);
  const found = await orUnavailable(
    Promise.all([log.count(filter), log.summaries({ ...filter, order: 'oldest-first', limit: SAMPLE })]),
  );
  if (isUnavailable(found)) return { kind: 'unavailable', message: found.unavailable };
  const [matching, summaries] = found;
  const count = Math.min(matching, LIMITS.replayRequestsMax);
  const object = toBulkReplay(values, { ...params, name: 'replay' });
  const sample = summaries.map(({ id, method, path, query, status, receivedAt, endpoint }) => ({
    id,
    method,
    path,
    query,
    status,
    receivedAt,
    endpoint,
  }));
  return {
    kind: 'plan',
    plan: { count, more: matching - count, seconds: count / Number(values.rate), sample },
    commands: replayCommands(object),
  };
};
