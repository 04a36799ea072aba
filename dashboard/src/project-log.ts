import type { LogStore } from '@standin/logstore';
import type { ProjectIdentity, ProjectLog } from './backend.ts';

/** Restricts the log to one project. No query returns entries from another project. */
export const projectLog = (
  store: Pick<LogStore, Exclude<keyof ProjectLog, 'projectUid'>>,
  project: ProjectIdentity,
): ProjectLog => ({
  projectUid: project.uid,
  summaries: (filter) => store.summaries({ ...filter, projectUid: project.uid }),
  follow: (options) => store.follow({ ...options, projectUid: project.uid }),
  entries: (summaries) => store.entries(summaries.filter(({ projectUid }) => projectUid === project.uid)),
  get: async (id) => {
    const entry = await store.get(id);
    return entry?.projectUid === project.uid ? entry : undefined;
  },
  row: async (id) => {
    const row = await store.row(id);
    return row?.projectUid === project.uid ? row : undefined;
  },
  preview: async (id, bodyBytesMax) => {
    const preview = await store.preview(id, bodyBytesMax);
    return preview?.entry.projectUid === project.uid ? preview : undefined;
  },
  count: (filter) => store.count({ ...filter, projectUid: project.uid }),
  histogram: (filter, range) => store.histogram({ ...filter, projectUid: project.uid }, range),
  distinct: (field, filter, options) => store.distinct(field, { ...filter, projectUid: project.uid }, options),
  replays: {
    answer: (replayUid, requestId) => store.replays.answer({ projectUid: project.uid, replayUid, requestId }),
    results: (replayUid, options) => store.replays.results({ ...options, projectUid: project.uid, replayUid }),
    ofRequest: (requestId, limit) => store.replays.ofRequest(project.uid, requestId, limit),
    counts: (replayUid) => store.replays.counts({ projectUid: project.uid, replayUid }),
  },
});
