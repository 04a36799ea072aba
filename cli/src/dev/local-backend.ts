import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import {
  API_KEY_DATA_KEY,
  LIMITS,
  objectRef,
  type DesiredObject,
  type GatheredRefusals,
  type LogRow,
  type ObjectRef,
  type Objects,
  type ResourceObject,
  type Secrets,
} from '@standin/contract';
import type { Problem } from '@standin/crds';
import {
  checkExpected,
  checkSettled,
  projectLog,
  ShareIndex,
  type Backend,
  type ExpectedVersion,
  type ProjectIdentity,
  type ProjectLog,
  type PublicSharesSource,
  type Resources,
} from '@standin/dashboard';
import { ALL_PROJECTS, type Gateway } from '@standin/gateway';
import { EVERY_PROJECT, type LogFilter, type LogStore } from '@standin/logstore';
import type { CachedObjects, LocatingObjects, TranslateSettings } from '@standin/operator';
import { checkDesired } from './check-desired.ts';

export interface LocalBackendOptions {
  readonly objects: Pick<Objects, 'get' | 'apply' | 'delete'>;
  readonly secrets: Pick<Secrets, 'read'>;
  /** The objects, if they are in a directory. */
  readonly directory: Pick<LocatingObjects, 'objectText' | 'apply'> | undefined;
  readonly cache: CachedObjects;
  readonly settings: TranslateSettings;
  /** Returns the file and the line of an object. Empty if it is in no file. */
  readonly whereIs: (ref: ObjectRef) => string;
  /** Returns a place in the directory as users know it. */
  readonly inOrigin: (where: string) => string;
  /** Returns the name of the Secret that contains an account's key, by the account's uid. */
  readonly keySecret: (accountUid: string) => string | undefined;
  readonly store: LogStore;
  /** URL of the gateway. */
  readonly gatewayUrl: string;
  readonly gateway: Pick<Gateway, 'settle' | 'recent' | 'nextRecord'>;
  /** Asks the gateway which requests to a project it refused. */
  readonly gatherRefusals: (projectUid: string) => Promise<GatheredRefusals>;
}

/** Creates the dashboard's backend for `standin dev`. The backend uses this process's objects and log, without a login. */
export const localBackend = (options: LocalBackendOptions): Backend => ({
  mode: 'local',
  gatewayUrl: options.gatewayUrl,
  sendUrl: options.gatewayUrl,
  resources: localResources(options),
  logs: {
    requestsByHour: (projects, hours) => options.store.requestsByHour(projects, hours),
    open: (project) => Promise.resolve(openLocal(options, project)),
    refusals: ({ uid }) => options.gatherRefusals(uid),
    openByName: (project) => openByName(options, project),
    usage: (account, range) => options.store.usage(account, range),
  },
});

const openLocal = ({ store, gateway }: LocalBackendOptions, project: ProjectIdentity): ProjectLog => ({
  ...projectLog(store, project, (signal) => settle(gateway, project.uid, signal)),
  own: ownGateway(gateway, ({ projectUid, namespace, project: name }) =>
    isDeepStrictEqual({ uid: projectUid, namespace, name }, project),
  ),
});

const ownGateway = (
  gateway: LocalBackendOptions['gateway'],
  isIncluded: (row: Pick<LogRow, 'projectUid' | 'namespace' | 'project'>) => boolean,
): NonNullable<ProjectLog['own']> => ({
  recent: async () => (await gateway.recent())?.filter(isIncluded),
  next: (signal) => gateway.nextRecord(signal),
});

/** Rejects with a `SourceError` if the log is not complete in time, or cannot be. */
const settle = async (gateway: LocalBackendOptions['gateway'], uid: string, signal: AbortSignal): Promise<void> => {
  const inTime = AbortSignal.timeout(LIMITS.settleWaitMs);
  const late = (why: string): void => checkSettled({ settled: false, reasons: [`the gateway, which ${why}`] });
  try {
    const { hasQuarantine } = await gateway.settle(uid, AbortSignal.any([signal, inTime]));
    if (hasQuarantine) late('has files in quarantine');
  } catch (error) {
    if (inTime.aborted) late('has not inserted its requests into ClickHouse yet');
    throw error;
  }
};

/**
 * Opens a log by name, where `-` stands for any namespace or project. Resolves with undefined if there is neither a project with
 * this name nor a request from a former one.
 */
const openByName = async (
  options: LocalBackendOptions,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<ProjectLog | undefined> => {
  const { cache } = options;
  const named = (text: string): string | undefined => (text === ANY_NAME ? undefined : text);
  const scope = { projectUid: EVERY_PROJECT, namespace: named(namespace), project: named(name) } as const;
  const log = namedLog(options, scope);
  if (scope.project === undefined) return log;
  const exists = [...cache.ofKind('Project')].some(
    ({ metadata }) => metadata.name === name && (scope.namespace === undefined || metadata.namespace === namespace),
  );
  return exists || (await log.summaries({ limit: 1 })).length > 0 ? log : undefined;
};
const ANY_NAME = '-';
/** A uid that does not belong to any project. */
const NO_UID = '-';

const namedLog = (
  options: LocalBackendOptions,
  scope: Pick<LogFilter, 'namespace' | 'project'> & { readonly projectUid: typeof EVERY_PROJECT },
): ProjectLog => {
  const { store, gateway } = options;
  const ifNamed = <T extends Pick<LogRow, 'namespace' | 'project'>>(found: T | undefined): T | undefined =>
    [found?.namespace, undefined].includes(scope.namespace) && [found?.project, undefined].includes(scope.project)
      ? found
      : undefined;
  return {
    // Histograms, distinct values and replay results are empty, because they require a project that exists.
    ...openLocal(options, { namespace: '', name: '', uid: NO_UID }),
    settle: (signal) => settle(gateway, ALL_PROJECTS, signal),
    own: ownGateway(gateway, (row) => ifNamed(row) !== undefined),
    summaries: (filter) => store.summaries({ ...filter, ...scope }),
    count: (filter) => store.count({ ...filter, ...scope }),
    follow: (options) => store.follow({ ...options, ...scope }),
    entries: (summaries) => store.entries(summaries),
    preview: async (id, bodyBytesMax) => {
      const preview = await store.preview(id, bodyBytesMax);
      return preview && ifNamed(preview.entry) && preview;
    },
    previews: (summaries, bodyBytesMax) => store.previews(summaries, bodyBytesMax),
    get: async (id) => ifNamed(await store.get(id)),
    row: async (id) => ifNamed(await store.row(id)),
  };
};

const namespacedName = ({ metadata: { namespace, name } }: ResourceObject): string => `${namespace}/${name}`;

const localResources = (options: LocalBackendOptions): Resources => {
  const { objects, secrets, directory, cache, settings, keySecret, whereIs, inOrigin } = options;
  /** Runs writes one at a time, because each is checked against the current state, which must not change before the write. */
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work, work);
    turn = result.catch(() => undefined);
    return result;
  };
  const check = async (object: DesiredObject, expected: ExpectedVersion): Promise<readonly Problem[]> => {
    const ref = objectRef(object);
    // Bypasses the cache, because the file may have just been saved.
    const before = await objects.get(ref);
    checkExpected(before, expected, ref);
    return checkDesired(object, { objects: cache.values(), settings, before });
  };
  return {
    list: (kind, namespace) => {
      const found = namespace === undefined ? cache.ofKind(kind) : cache.inNamespace(kind, namespace);
      return Promise.resolve([...found].sort((a, b) => (namespacedName(a) < namespacedName(b) ? -1 : 1)));
    },
    get: (ref) => Promise.resolve(cache.find(ref)),
    findIdentity: ({ metadata: { namespace, name, uid } }) => Promise.resolve({ namespace, name, uid }),
    check: (object, expected) => inTurn(() => check(object, expected)),
    apply: (object, expected, text) =>
      inTurn(async () => {
        const problems = await check(object, expected);
        if (problems.length > 0) return { ok: false, problems };
        return { ok: true, object: await (directory ?? objects).apply(object, text) };
      }),
    delete: (ref, uid) =>
      inTurn(async () => {
        const before = await objects.get(ref);
        if (before !== undefined) checkExpected(before, { uid, generation: before.metadata.generation }, ref);
        await objects.delete(ref);
      }),
    watch: async (namespace, onChange, signal) => {
      const stop = cache.subscribe((ref) => {
        if (namespace === undefined || ref === undefined || ref.namespace === namespace) onChange(ref);
      });
      if (!signal.aborted) await once(signal, 'abort');
      stop();
    },
    problems: () => Promise.resolve(cache.problems.map(({ where, message }) => ({ where: inOrigin(where), message }))),
    whereIs: (ref) => Promise.resolve(whereIs(ref) || undefined),
    ...(directory !== undefined && { readText: (ref) => directory.objectText(ref) }),
    readApiKey: async ({ metadata: { namespace, uid } }) => {
      const secretName = keySecret(uid);
      if (secretName === undefined) return undefined;
      const key = await secrets.read(namespace, secretName, API_KEY_DATA_KEY);
      return key && Buffer.from(key).toString('utf8');
    },
  };
};

/** Finds the Shares of `standin dev` by their token's SHA-256. Follows the cache, so a deleted Share is not found. */
export const localShares = (cache: CachedObjects): PublicSharesSource['source'] => {
  const index = new ShareIndex();
  for (const object of cache.values()) index.put(object);
  cache.subscribe((ref) => {
    if (ref === undefined) return;
    const object = cache.find(ref);
    if (object === undefined) index.remove(ref);
    else index.put(object);
  });
  return {
    find: (tokenSha256) => {
      const share = index.find(tokenSha256);
      const project = share && index.findProject(share);
      return Promise.resolve(project && { share, projectUid: project.metadata.uid, surroundings: index });
    },
  };
};
