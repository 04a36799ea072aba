import type { Kind, ResourceObject } from '@standin/contract';
import { parseObject, type ReplaySpec, type Specs } from '@standin/crds';
import { parseFilter, type Filter } from '@standin/exchange/search';
import type { CachedObjects } from '../object-cache.ts';
import { retentionInForce, type Finding, type RetentionSettings } from '../translate/index.ts';

/** A Replay's spec, with all references resolved. */
export interface ReplayPlan {
  readonly spec: ReplaySpec;
  readonly project: { readonly uid: string; readonly namespace: string; readonly name: string };
  /** Number of days for which results are kept. The project's log entries are kept for the same number of days. */
  readonly retentionDays: number;
  readonly accountUid: string;
  readonly search: Filter | undefined;
}

export type Resolution =
  | { readonly kind: 'ready'; readonly plan: ReplayPlan }
  /** This Replay can never run: a new one is necessary. */
  | { readonly kind: 'invalid'; readonly finding: Finding }
  /** The Project may be created or corrected later. */
  | { readonly kind: 'waiting'; readonly finding: Finding };

/** Undefined if the spec is invalid or the object is of another kind. */
export const validSpec = <K extends Kind>(object: ResourceObject | undefined, kind: K): Specs[K] | undefined => {
  if (object?.kind !== kind) return undefined;
  const parsed = parseObject(object);
  return parsed.ok && parsed.value.kind === kind ? (parsed.value.spec as Specs[K]) : undefined;
};

const invalid = (message: string): Resolution => ({
  kind: 'invalid',
  finding: { ok: false, reason: 'Invalid', message },
});
const waiting = (finding: Omit<Finding, 'ok'>): Resolution => ({ kind: 'waiting', finding: { ok: false, ...finding } });

/** Reads a Replay and resolves its project in the Replay's own namespace. Never throws. */
export const resolveReplay = (
  replay: ResourceObject,
  cache: Pick<CachedObjects, 'find'>,
  settings: RetentionSettings,
): Resolution => {
  const parsed = parseObject(replay);
  if (!parsed.ok) return invalid(parsed.problems.map(({ path, message }) => `${path}: ${message}`).join('; '));
  if (parsed.value.kind !== 'Replay') return invalid('The object is not a Replay.');
  const { spec } = parsed.value;
  const search = spec.filter?.search === undefined ? undefined : parseFilter(spec.filter.search);
  if (search?.kind === 'invalid') return invalid(`spec.filter.search: ${search.problem.message}`);

  const { namespace } = replay.metadata;
  const { name } = spec.projectRef;
  const project = cache.find({ kind: 'Project', namespace, name });
  const projectSpec = validSpec(project, 'Project');
  if (project === undefined)
    return waiting({ reason: 'ProjectNotFound', message: `There is no Project ${name} in this namespace: create it.` });
  if (projectSpec === undefined)
    return waiting({ reason: 'ProjectNotReady', message: `Project ${name} is not valid: see its conditions.` });
  const account = cache.find({ kind: 'Account', namespace, name: projectSpec.accountRef.name });
  return {
    kind: 'ready',
    plan: {
      spec,
      project: { uid: project.metadata.uid, namespace, name },
      retentionDays: retentionInForce(projectSpec, validSpec(account, 'Account')?.plan, settings),
      accountUid: account?.metadata.uid ?? '',
      search: search?.filter,
    },
  };
};
