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
  LogStore,
  ReplayAnswer,
  ReplayResultsFilter,
  ReplaySummary,
  StatusCount,
  Usage,
  UsageRange,
} from '@standin/logstore';

/** `local`: part of `standin dev`, on loopback, without a login. `cluster`: with the rights of whoever is signed in. */
export type DashboardMode = 'local' | 'cluster';

/** Everything that a page needs, with the rights of the person who asks. One per request. */
export interface Backend {
  readonly mode: DashboardMode;
  readonly resources: Resources;
  readonly logs: Logs;
}

/** The generation that the person saw, or `absent` for a new object. Where it is another, the call rejects with `Conflict`. */
export type ExpectedGeneration = number | 'absent';

/** `problems`: what to change, by field, in the API server's words. Nothing was written. */
export type ApplyResult =
  | { readonly ok: true; readonly object: ResourceObject }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Custom resources. Everything rejects with `SourceError`: `Forbidden`, `Unavailable`, … */
export interface Resources {
  /** Of one namespace, or of all that the person may see; by namespace and name. */
  list(kind: Kind, namespace?: string): Promise<readonly ResourceObject[]>;
  get(ref: ObjectRef): Promise<ResourceObject | undefined>;
  /** Creates the object, or replaces its spec, labels and annotations. */
  apply(object: DesiredObject, expected: ExpectedGeneration): Promise<ApplyResult>;
  /** A dry run: what `apply` would have to say. Writes nothing. */
  check(object: DesiredObject, expected: ExpectedGeneration): Promise<readonly Problem[]>;
  delete(ref: ObjectRef): Promise<void>;
  /**
   * Calls `onChange` with what changes from now on, until `signal` aborts; `undefined`: anything may have changed. Rejects when it
   * cannot go on.
   */
  watch(
    namespace: string | undefined,
    onChange: (ref: ObjectRef | undefined) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** The key of an Account; `undefined` where there is none yet. */
  readApiKey(account: ResourceObject): Promise<string | undefined>;
}

export interface ProjectIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

type AccountIdentity = ProjectIdentity;

/** Reads of one project's log, and of no other. */
export interface ProjectLog extends Pick<LogStore, 'entries' | 'get' | 'row' | 'preview'> {
  /** For functions that take any log. */
  readonly projectUid: string;
  /** As `LogStore.follow`, of this project. */
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

/** A filter within a project that is known already. */
export type OfProject<F extends Pick<LogFilter, 'projectUid'>> = Omit<F, 'projectUid'>;

/** What replays of the project's requests got back; see `ReplayStore`. */
interface ProjectReplays {
  answer(replayUid: string, requestId: string): Promise<ReplayAnswer | undefined>;
  results(replayUid: string, options: Pick<ReplayResultsFilter, 'status' | 'limit'>): Promise<ReplaySummary[]>;
  ofRequest(requestId: string, limit: number): Promise<ReplaySummary[]>;
  counts(replayUid: string): Promise<StatusCount[]>;
}

/** Logs, after the check that the person may read them. Rejects with `SourceError` (`Forbidden`) or `LogStoreError`. */
export interface Logs {
  /** The last `hours` hours of each project, by its uid. A project whose log the person may not read is left out. */
  requestsByHour(projects: readonly ProjectIdentity[], hours: number): Promise<ReadonlyMap<string, HourlyCounts>>;
  open(project: ProjectIdentity): Promise<ProjectLog>;
  /** Of whoever may see the account. Endpoints of projects whose log the person may not read are left out. */
  usage(account: AccountIdentity, range: UsageRange): Promise<Usage>;
}
