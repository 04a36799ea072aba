import { access } from 'node:fs/promises';
import path from 'node:path';
import { EVERY_PROJECT, openLogStore, tailLog, tailSummaries, type LogStore, type TailFilter } from '@standin/logstore';
import { recordedProjects } from '@standin/operator/recorded-projects';
import { openEngine } from '../open-engine.ts';
import { PlainError } from '../plain-error.ts';
import { missingProject } from '../server/projects.ts';
import { readRunFile } from '../server/run-file.ts';
import type { LogChoice } from './log-choice.ts';
import { outageNotice, type LogReader } from './log-reader.ts';

export interface StoreReaderOptions {
  /** The data folder. Opened only without `clickhouseUrl`, when no `standin dev` process is using it. */
  readonly data: string;
  /** The ClickHouse server to read from instead. */
  readonly clickhouseUrl?: string | undefined;
  readonly clickhouseUser: string;
  readonly clickhousePassword: string;
  readonly database: string;
}

/** Reads a ClickHouse server, or a data folder with an engine that runs as long as the command. */
export const openStoreReader = async (options: StoreReaderOptions, choice: LogChoice): Promise<LogReader> => {
  const { filter: search, ...others } = choice;
  const { store, close } = await openStore(options);
  const filter: TailFilter = { projectUid: await projectUidOf(store, choice), ...others, search };
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
    followLines: async function* (since, signal) {
      checkGrowing();
      yield* tailSummaries(store, { ...filter, since }, signal, { onFailure: outageNotice() });
    },
    followEntries: async function* (since, signal) {
      checkGrowing();
      yield* tailLog(store, { ...filter, since }, signal, { onFailure: outageNotice() });
    },
    checkProject: async () => {
      const { namespace, project } = choice;
      // A separate ClickHouse server contains only the log, not the list of projects.
      if (project === undefined || isServer) return;
      const hasRows = async () =>
        (await store.summaries({ projectUid: EVERY_PROJECT, namespace, project, limit: 1 })).length > 0;
      await checkProject(options.data, { namespace, project }, hasRows);
    },
    close,
  };
};

/**
 * Returns the identity of the project with this namespace and name. If several projects have had this namespace and name, returns
 * the identity with the newest request, so that the requests of an earlier owner are not shown. If the namespace or the name is
 * missing, returns `EVERY_PROJECT`, because a user with access to ClickHouse may read the whole log. The namespace or name that is
 * given then only filters the requests.
 */
const projectUidOf = async (
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
 * Rejects with a `PlainError` if the last `standin dev` for a data folder did not have the project, and the log has no rows from
 * the project.
 */
export const checkProject = async (
  data: string,
  wanted: Pick<LogChoice, 'namespace' | 'project'>,
  hasRows: () => Promise<boolean>,
): Promise<void> => {
  const dataDir = path.resolve(data);
  // If `standin dev` uses a cluster, the projects recorded in the folder are those of an earlier directory.
  if ((await readRunFile(dataDir))?.from === 'cluster') return;
  // A failed read is not a reason to reject a name.
  const known = await recordedProjects(dataDir).catch(() => undefined);
  const refusal = known && missingProject(known, wanted);
  // A project's log outlives the project.
  if (refusal !== undefined && !(await hasRows())) throw refusal;
};
