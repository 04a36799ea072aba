import { EVERY_PROJECT, tailLog, tailSummaries, type TailFilter, type TailOptions } from '@standin/logstore';
import { checkProject } from '../known-projects.ts';
import type { LogChoice } from './log-choice.ts';
import { outageNotice, type LogReader } from './log-reader.ts';
import { openLogSource, type LogSourceOptions } from './log-source.ts';

/** Reads ClickHouse, on a server or on this machine. */
export const openStoreReader = async (options: LogSourceOptions, choice: LogChoice): Promise<LogReader> => {
  const { filter: search, ...others } = choice;
  // A user with access to ClickHouse may see all of it. Names only narrow the list.
  const filter: TailFilter = { projectUid: EVERY_PROJECT, ...others, search };
  const source = await openLogSource(options);
  const { store } = source;
  const notice = outageNotice();
  const tailOptions: TailOptions = {
    onFailure: async (error) => {
      await source.checkGrowing();
      notice(error);
    },
  };
  return {
    newest: async (limit) => {
      const listed = await store.summaries({ ...filter, order: 'newest-first', limit });
      return { listed, entries: (count) => store.entries(listed.slice(0, count).toReversed()) };
    },
    followLines: async function* (since, signal) {
      await source.checkGrowing();
      yield* tailSummaries(store, { ...filter, since }, signal, tailOptions);
    },
    followEntries: async function* (since, signal) {
      await source.checkGrowing();
      yield* tailLog(store, { ...filter, since }, signal, tailOptions);
    },
    checkProject: async () => {
      const { namespace, project } = choice;
      // A separate ClickHouse server has only the log, not the list of projects.
      if (project === undefined || options.clickhouseUrl !== undefined) return;
      const hasRows = async () =>
        (await store.summaries({ projectUid: EVERY_PROJECT, namespace, project, limit: 1 })).length > 0;
      await checkProject(options.data, { namespace, project }, hasRows);
    },
    close: () => source.close(),
  };
};
