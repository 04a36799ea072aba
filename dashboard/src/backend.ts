import type {
  DesiredObject,
  GatheredRefusals,
  Kind,
  LogRow,
  ObjectRef,
  ResourceObject,
  SourceProblem,
} from '@standin/contract';
import type { Problem } from '@standin/crds';
import type {
  CountFilter,
  DistinctField,
  DistinctOptions,
  FollowOptions,
  HistogramRange,
  HourlyCounts,
  InsertFeed,
  LogCursor,
  LogFilter,
  LogOwner,
  LogStore,
  ReplayedExchange,
  ReplayResultsFilter,
  ReplaySummary,
  StatusCount,
  Usage,
  UsageRange,
} from '@standin/logstore';

/** `local` is the dashboard of `standin dev`, on loopback and without a login. `cluster` uses the signed-in user's permissions. */
export type DashboardMode = 'local' | 'cluster';

/**
 * Everything that pages and the API read and write, with the user's permissions. In a cluster, each request has its own backend.
 */
export interface Backend {
  readonly mode: DashboardMode;
  /** Base URL at which callers reach the gateways, without a slash at its end. */
  readonly gatewayUrl: string;
  /** Base URL at which this process reaches the gateways. */
  readonly sendUrl: string;
  readonly resources: Resources;
  readonly logs: Logs;
}

/**
 * The version that the user saw, or `absent` for a new object. The call rejects with `Conflict` if the version differs or the new
 * object exists. An object that was deleted and created again has another uid, and its generations start again.
 */
export type ExpectedVersion = Pick<ResourceObject['metadata'], 'uid' | 'generation'> | 'absent';

/** `problems` are the API server's messages by field. If there are any, nothing was written. */
export type ApplyResult =
  | { readonly ok: true; readonly object: ResourceObject }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** An object's text in its file, before and after a user has edited it. */
interface EditedText {
  readonly before: string;
  readonly after: string;
}

/** Custom resources. All methods reject with `SourceError`: `Forbidden`, `Unavailable`, … */
export interface Resources {
  /**
   * Returns the objects in one namespace, or in all namespaces that the user may see. Sorted by namespace and name. A large object has
   * only the parts that lists show.
   */
  list(kind: Kind, namespace?: string): Promise<readonly ResourceObject[]>;
  get(ref: ObjectRef): Promise<ResourceObject | undefined>;
  /** Resolves with an object's identity (ADR 024), which is not necessarily its uid. Logs belong to identities. */
  findIdentity(object: ResourceObject): Promise<LogOwner>;
  /**
   * Creates the object, or replaces its spec, labels and annotations. `text` is available only in local mode. It contains the object,
   * and replaces the object's text in its file (`readText`).
   */
  apply(object: DesiredObject, expected: ExpectedVersion, text?: EditedText): Promise<ApplyResult>;
  /** Returns the problems that `apply` would return, using a dry run. Writes nothing. */
  check(object: DesiredObject, expected: ExpectedVersion): Promise<readonly Problem[]>;
  /** Rejects with `Conflict` if the object with this uid was deleted and created again. */
  delete(ref: ObjectRef, uid: string): Promise<void>;
  /**
   * Calls `onChange` for each change from now on, until `signal` aborts. The argument of `onChange` is undefined if any object may
   * have changed. Rejects if the watch cannot continue.
   */
  watch(
    namespace: string | undefined,
    onChange: (ref: ObjectRef | undefined) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Available only in local mode. Returns the problems with the files of the directory. */
  problems?(): Promise<readonly SourceProblem[]>;
  /** Available only in local mode. Returns the file and the line of an object, such as `manifests/orders.yaml:12`. */
  whereIs?(ref: ObjectRef): Promise<string | undefined>;
  /** Available only in local mode. Returns the object's text in its file, with comments, if it is a YAML document of its own. */
  readText?(ref: ObjectRef): Promise<string | undefined>;
  /** Returns an Account's key, or undefined if the Account has no key yet. */
  readApiKey(account: ResourceObject): Promise<string | undefined>;
}

/** See `Resources.findIdentity`. */
export type ProjectIdentity = LogOwner;

type AccountIdentity = LogOwner;

/** Reads the log of a single project. */
export interface ProjectLog extends Pick<LogStore, 'entries' | 'get' | 'row' | 'preview' | 'previews'> {
  /**
   * For functions such as `tailLog`, whose filter must contain a uid. They read this log only through its methods, which also
   * filter by namespace and name.
   */
  readonly projectUid: string;
  /**
   * Resolves when this log has everything that was accepted before the call, in any version. Rejects with `SourceError` (`Unavailable`)
   * and a message for users within a few seconds if that cannot be known.
   */
  settle(signal: AbortSignal): Promise<void>;
  /** Available only in local mode. The gateway in this process, which has the newest requests before the log has them. */
  readonly own?: OwnGateway;
  /** Like `LogStore.follow`, for this project. */
  follow(options: Pick<FollowOptions, 'pollIntervalMs'>): InsertFeed;
  readonly replays: ProjectReplays;
  summaries(filter: OfProject<LogFilter>): ReturnType<LogStore['summaries']>;
  requestBodies(keys: readonly LogCursor[], bodyBytesMax: number): ReturnType<LogStore['requestBodies']>;
  count(filter: OfProject<CountFilter>): ReturnType<LogStore['count']>;
  histogram(filter: OfProject<CountFilter>, range: HistogramRange): ReturnType<LogStore['histogram']>;
  distinct(
    field: DistinctField,
    filter: OfProject<CountFilter>,
    options: DistinctOptions,
  ): ReturnType<LogStore['distinct']>;
}

interface OwnGateway {
  /**
   * Resolves with the project's rows that are accepted and may not be in the log. The log has all others. Resolves with undefined if
   * they are many, or not all of them are known. `settle` helps then.
   */
  recent(): Promise<readonly LogRow[] | undefined>;
  /** Resolves when further requests are accepted. Rejects with the signal's reason when it aborts. */
  next(signal: AbortSignal): Promise<void>;
}

/** A filter within one project. */
export type OfProject<F extends Pick<LogFilter, 'projectUid'>> = Omit<F, 'projectUid'>;

/** Replay results of the project's requests. See `ReplayStore`. */
interface ProjectReplays {
  exchange(replayUid: string, requestId: string): Promise<ReplayedExchange | undefined>;
  results(replayUid: string, options: Pick<ReplayResultsFilter, 'status' | 'limit'>): Promise<ReplaySummary[]>;
  ofRequest(requestId: string, limit: number): Promise<ReplaySummary[]>;
  counts(replayUid: string): Promise<StatusCount[]>;
}

/** `unknownProject` is absent if the user may not read the logs of all projects. */
export type ReadRefusals = Omit<GatheredRefusals, 'unknownProject'> & Partial<Pick<GatheredRefusals, 'unknownProject'>>;

/**
 * Reads logs, after checking that the user may read them. Rejects with `SourceError` (`Forbidden`, `NotFound`) or `LogStoreError`.
 */
export interface Logs {
  /**
   * Returns the number of requests in each of the last `hours` hours, by project uid. Omits projects whose logs the user may not
   * read.
   */
  requestsByHour(projects: readonly ProjectIdentity[], hours: number): Promise<ReadonlyMap<string, HourlyCounts>>;
  open(project: ProjectIdentity): Promise<ProjectLog>;
  /** Returns the requests that gateways refused within the last hour. Rejects with `Unavailable` if the operator does not respond. */
  refusals(project: ProjectIdentity): Promise<ReadRefusals>;
  /**
   * Available only in local mode. Returns the log of all projects with this namespace and name, including removed ones. `-` matches
   * any namespace or name. Returns undefined if there is neither such a project nor a request to a removed one.
   */
  openByName?(project: Omit<ProjectIdentity, 'uid'>): Promise<ProjectLog | undefined>;
  /**
   * Returns an account's usage. Requires permission to see the account. Omits endpoints in projects whose logs the user may not
   * read.
   */
  usage(account: AccountIdentity, range: UsageRange): Promise<Usage>;
}
