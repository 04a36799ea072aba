import type { LogStore } from '@standin/logstore';
import type { ProjectIdentity, ProjectLog } from './backend.ts';

/**
 * Restricts the log to one project. No query returns entries from another project. The uid alone is not sufficient, because it may
 * come from a status, which users may be able to edit. The namespace and the name must therefore also match (ADR 024).
 */
export const projectLog = (
  store: Pick<LogStore, keyof ProjectLog & keyof LogStore>,
  { uid: projectUid, namespace, name: project }: ProjectIdentity,
  settle: ProjectLog['settle'],
): ProjectLog => {
  const scope = { projectUid, namespace, project };
  const isOwn = (row: typeof scope): boolean =>
    row.projectUid === projectUid && row.namespace === namespace && row.project === project;
  const ifOwn = <T extends typeof scope>(row: T | undefined): T | undefined =>
    row !== undefined && isOwn(row) ? row : undefined;
  return {
    projectUid,
    settle,
    summaries: (filter) => store.summaries({ ...filter, ...scope }),
    follow: (options) => store.follow({ ...options, ...scope }),
    entries: (summaries) => store.entries(summaries.filter(isOwn)),
    get: async (id) => ifOwn(await store.get(id)),
    row: async (id) => ifOwn(await store.row(id)),
    preview: async (id, bodyBytesMax) => {
      const preview = await store.preview(id, bodyBytesMax);
      return preview !== undefined && isOwn(preview.entry) ? preview : undefined;
    },
    previews: async (summaries, bodyBytesMax) =>
      (await store.previews(summaries.filter(isOwn), bodyBytesMax)).filter(({ entry }) => isOwn(entry)),
    requestBodies: (keys, bodyBytesMax) => store.requestBodies({ ...scope, keys }, bodyBytesMax),
    count: (filter) => store.count({ ...filter, ...scope }),
    histogram: (filter, range) => store.histogram({ ...filter, ...scope }, range),
    distinct: (field, filter, options) => store.distinct(field, { ...filter, ...scope }, options),
    replays: {
      exchange: (replayUid, requestId) => store.replays.exchange({ ...scope, replayUid, requestId }),
      results: (replayUid, options) => store.replays.results({ ...options, ...scope, replayUid }),
      ofRequest: (requestId, limit) => store.replays.ofRequest({ ...scope, requestId }, limit),
      counts: (replayUid) => store.replays.counts({ ...scope, replayUid }),
    },
  };
};
