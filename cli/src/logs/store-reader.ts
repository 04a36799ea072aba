import { access } from 'node:fs/promises';
import path from 'node:path';
import type { LogEntry } from '@standin/exchange';
import {
  EVERY_PROJECT,
  openLogStore,
  tailLog,
  tailSummaries,
  type LogCursor,
  type LogStore,
  type TailFilter,
} from '@standin/logstore';
import { recordedObjects } from '@standin/operator/recorded-objects';
import { openEngine } from '../open-engine.ts';
import { PlainError } from '../plain-error.ts';
import { missingObject, missingProject } from '../server/projects.ts';
import { readRunFile } from '../server/run-file.ts';
import type { LogChoice } from './log-choice.ts';
import { outageNotice } from '../server/outage-notice.ts';
import type { LogReader } from './log-reader.ts';

export interface StoreReaderOptions {
  /** The data folder. Opened only without `clickhouseUrl`, when no `standin dev` process is using it. */
  readonly data: string;
  /** The ClickHouse server to read from instead. */
  readonly clickhouseUrl?: string | undefined;
  readonly clickhouseUser: string;
  readonly clickhousePassword: string;
  readonly database: string;
}

const PAGE_SIZE = 1_000;

/** Reads a ClickHouse server, or a data folder with an engine that runs as long as the command. */
export const openStoreReader = async (options: StoreReaderOptions, choice: LogChoice): Promise<LogReader> => {
  const { filter: search, ...others } = choice;
  const { store, close } = await openStore(options);
  const filter: TailFilter = { projectUid: await findProjectUid(store, choice), ...others, search };
  const isServer = options.clickhouseUrl !== undefined;
  const checkGrowing = (): void => {
    if (isServer) return;
    throw new PlainError(
      `standin dev is not running for ${options.data}: start it first; standin logs lists the captured requests`,
    );
  };
  return {
    newest: async (limit) => {
      const listed = await store.summaries({ ...filter, order: 'newest-first', limit });
      return { listed, entries: (count) => store.entries(listed.slice(0, count).toReversed()) };
    },
    all: () => allEntries(store, filter),
    followLines: async function* (sinceUs, signal) {
      checkGrowing();
      yield* tailSummaries(store, { ...filter, sinceUs }, signal, { onFailure: outageNotice() });
    },
    followEntries: async function* (sinceUs, signal) {
      checkGrowing();
      yield* tailLog(store, { ...filter, sinceUs }, signal, { onFailure: outageNotice() });
    },
    checkNames: async () => {
      // A separate ClickHouse server contains only the log, not the names of objects.
      if (isServer) return;
      const { namespace, project, endpoint } = choice;
      const hasRows = async (to: Pick<LogChoice, 'project' | 'endpoint'>) =>
        (await store.summaries({ projectUid: EVERY_PROJECT, namespace, ...to, limit: 1 })).length > 0;
      await checkNames(options.data, choice, {
        project: () => hasRows({ project }),
        endpoint: () => hasRows({ project, endpoint }),
      });
    },
    close,
  };
};

/** Yields all selected entries, oldest first. */
export async function* allEntries(
  store: Pick<LogStore, 'summaries' | 'entries'>,
  filter: TailFilter,
): AsyncGenerator<LogEntry> {
  for (let after: LogCursor | undefined; ;) {
    const page = await store.summaries({ ...filter, order: 'oldest-first', after, limit: PAGE_SIZE });
    yield* store.entries(page);
    if (page.length < PAGE_SIZE) return;
    after = page.at(-1);
  }
}

/**
 * Returns the identity of the project with this namespace and name. If several projects have had this namespace and name, returns
 * the identity with the newest request, so that the requests of an earlier owner are not shown. If the namespace or the name is
 * missing, returns `EVERY_PROJECT`, because a user with access to ClickHouse may read the whole log. The namespace or name that is
 * given then only filters the requests.
 */
const findProjectUid = async (
  store: Pick<LogStore, 'summaries'>,
  { namespace, project }: Pick<LogChoice, 'namespace' | 'project'>,
): Promise<TailFilter['projectUid']> => {
  if (namespace === undefined || project === undefined) return EVERY_PROJECT;
  const [newest] = await store.summaries({ projectUid: EVERY_PROJECT, namespace, project, limit: 1 });
  return newest?.projectUid ?? EVERY_PROJECT;
};

const openStore = async (
  options: StoreReaderOptions,
): Promise<{ readonly store: LogStore; readonly close: () => Promise<void> }> => {
  const { data, clickhouseUrl, clickhouseUser: username, clickhousePassword: password, database } = options;
  if (clickhouseUrl !== undefined) {
    const store = openLogStore({ url: clickhouseUrl, username, password, database });
    return { store, close: () => store.close() };
  }
  const folder = path.join(path.resolve(data), 'clickhouse');
  await access(folder).catch(() => {
    throw new PlainError(
      `no log found in ${data}: run standin dev first, or pass --data DIR (or --server, or --clickhouse-url)`,
    );
  });
  const engine = await openEngine({ dataDir: folder });
  const store = openLogStore({ ...engine, database });
  return {
    store,
    close: async () => {
      await store.close();
      await engine.stop();
    },
  };
};

/**
 * Rejects with a `PlainError` if the last `standin dev` for a data folder did not have the project or the endpoint, and the log has
 * no rows from it.
 */
export const checkNames = async (
  data: string,
  { namespace, project, endpoint }: Pick<LogChoice, 'namespace' | 'project' | 'endpoint'>,
  hasRows: Readonly<Record<'project' | 'endpoint', () => Promise<boolean>>>,
): Promise<void> => {
  const dataDir = path.resolve(data);
  // If `standin dev` uses a cluster, the objects recorded in the folder are those of an earlier directory.
  if ((await readRunFile(dataDir))?.from === 'cluster') return;
  // A failed read is not a reason to refuse a name.
  const known = await recordedObjects(dataDir).catch(() => undefined);
  if (known === undefined) return;
  const noProject = project === undefined ? undefined : missingProject(known.projects, { namespace, project });
  // The log of an object outlives the object.
  if (noProject !== undefined && !(await hasRows.project())) throw noProject;
  const noEndpoint =
    endpoint === undefined ? undefined : missingObject('endpoint', known.endpoints, { namespace, name: endpoint });
  if (noEndpoint !== undefined && !(await hasRows.endpoint())) throw noEndpoint;
};
