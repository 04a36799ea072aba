import type { LogStore } from '@standin/logstore';
import type { ProjectIdentity, ProjectLog } from './backend.ts';

/** The part of the log that belongs to one project: whatever is asked for, no other project's entries come out. */
export const projectLog = (
  store: Pick<LogStore, 'summaries' | 'entries' | 'get'>,
  project: ProjectIdentity,
): ProjectLog => ({
  summaries: (filter) => store.summaries({ ...filter, projectUid: project.uid }),
  entries: (summaries) => store.entries(summaries.filter(({ projectUid }) => projectUid === project.uid)),
  get: async (id) => {
    const entry = await store.get(id);
    return entry?.projectUid === project.uid ? entry : undefined;
  },
});
