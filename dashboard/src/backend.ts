import type { DesiredObject, Kind, ObjectRef, ResourceObject } from '@standin/contract';
import type { Problem } from '@standin/crds';
import type {
  CountFilter,
  DistinctField,
  DistinctOptions,
  FollowOptions,
  HistogramRange,
  HourlyCounts,
  InsertFeed,
  LogFilter,
  LogOwner,
  LogStore,
  ReplayAnswer,
  ReplayResultsFilter,
  ReplaySummary,
  StatusCount,
  Usage,
  UsageRange,
} from '@standin/logstore';

/** `local`: part of `standin dev`, on loopback, without a login. `cluster`: with the rights of the signed-in user. */
export type DashboardMode = 'local' | 'cluster';

/** Everything that a page needs, with the rights of the user. One per request. */
export interface Backend {
  readonly mode: DashboardMode;
  readonly resources: Resources;
  readonly logs: Logs;
}

/** The generation that the user saw, or `absent` for a new object. If it differs, the call rejects with `Conflict`. */
export type ExpectedGeneration = number | 'absent';

/** `problems`: what to change, by field, in the API server's words. Nothing was written. */
export type ApplyResult =
  | { readonly ok: true; readonly object: ResourceObject }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Custom resources. All methods reject with `SourceError`: `Forbidden`, `Unavailable`, … */
export interface Resources {
  /** The objects of one namespace, or of all that the user may see. Sorted by namespace and name. */
  list(kind: Kind, namespace?: string): Promise<readonly ResourceObject[]>;
  get(ref: ObjectRef): Promise<ResourceObject | undefined>;
  /** Creates the object, or replaces its spec, labels and annotations. */
  apply(object: DesiredObject, expected: ExpectedGeneration): Promise<ApplyResult>;
  /** A dry run: returns the problems that `apply` would return. Writes nothing. */
  check(object: DesiredObject, expected: ExpectedGeneration): Promise<readonly Problem[]>;
  delete(ref: ObjectRef): Promise<void>;
  /** Calls `onChange` for each change from now on, until `signal` aborts. Undefined: anything may have changed. Rejects if it cannot continue. */
  watch(
    namespace: string | undefined,
    onChange: (ref: ObjectRef | undefined) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** The key of an Account. Undefined: it has none yet. */
  readApiKey(account: ResourceObject): Promise<string | undefined>;
}

/** The uid is the identity of the project (ADR 024). */
export type ProjectIdentity = LogOwner;

type AccountIdentity = LogOwner;

/** Reads the log of one project only. */
export interface ProjectLog extends Pick<LogStore, 'entries' | 'get' | 'row' | 'preview'> {
  /** For functions that take any log. They call the methods of this one, which add the other conditions. */
  readonly projectUid: string;
  /** Like `LogStore.follow`, for this project. */
  follow(options: Pick<FollowOptions, 'pollIntervalMs'>): InsertFeed;
  readonly replays: ProjectReplays;
  summaries(filter: OfProject<LogFilter>): ReturnType<LogStore['summaries']>;
  count(filter: OfProject<CountFilter>): ReturnType<LogStore['count']>;
  histogram(filter: OfProject<CountFilter>, range: HistogramRange): ReturnType<LogStore['histogram']>;
  distinct(
    field: DistinctField,
    filter: OfProject<CountFilter>,
    options: DistinctOptions,
  ): ReturnType<LogStore['distinct']>;
}

/** A filter within one project. */
export type OfProject<F extends Pick<LogFilter, 'projectUid'>> = Omit<F, 'projectUid'>;

/** Results of replays of the project's requests. See `ReplayStore`. */
interface ProjectReplays {
  answer(replayUid: string, requestId: string): Promise<ReplayAnswer | undefined>;
  results(replayUid: string, options: Pick<ReplayResultsFilter, 'status' | 'limit'>): Promise<ReplaySummary[]>;
  ofRequest(requestId: string, limit: number): Promise<ReplaySummary[]>;
  counts(replayUid: string): Promise<StatusCount[]>;
}

/** Logs. Checks first that the user may read them. Rejects with `SourceError` (`Forbidden`) or `LogStoreError`. */
export interface Logs {
  /** The last `hours` hours of each project, by its uid. Leaves out projects whose log the user may not read. */
  requestsByHour(projects: readonly ProjectIdentity[], hours: number): Promise<ReadonlyMap<string, HourlyCounts>>;
  open(project: ProjectIdentity): Promise<ProjectLog>;
  /**
   * Local mode only: the requests of all projects of this namespace and name, also of projects that were removed; `-` stands for any. Undefined if there
   * has never been such a project.
   */
  openByName?(project: Omit<ProjectIdentity, 'uid'>): Promise<ProjectLog | undefined>;
  /** For users who may see the account. Leaves out endpoints of projects whose log the user may not read. */
  usage(account: AccountIdentity, range: UsageRange): Promise<Usage>;
}
