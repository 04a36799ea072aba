import path from 'node:path';
import { GROUP_VERSION, type DesiredObject } from '@standin/contract';
import { DEFINITIONS, type ReplaySpec } from '@standin/crds';
import { EVERY_PROJECT, openLogStore } from '@standin/logstore';
import { actFiles } from '@standin/operator';
import { findRunning } from '../server/run-file.ts';
import { checkProject } from '../known-projects.ts';
import { PlainError } from '../plain-error.ts';
import type { ReplayClient, ReplayRef } from './replay-client.ts';

const FIRST = 5;

const objectOf = ({ namespace, name }: ReplayRef, spec: ReplaySpec): DesiredObject => ({
  apiVersion: GROUP_VERSION,
  kind: 'Replay',
  metadata: { namespace, name },
  spec,
});

/** Replays of the `standin dev` that runs on a data folder. They are written to the folder, and its operator runs them. */
export const openLocalReplays = async (data: string): Promise<ReplayClient> => {
  const dataDir = path.resolve(data);
  const running = await findRunning(dataDir);
  if (running === undefined)
    throw new PlainError(`no standin dev runs on ${data}: start it first, or name its folder with --data`);
  const store = openLogStore({ ...running.clickhouse, database: 'standin' });
  const acts = actFiles(dataDir);
  const created = new Map<string, { readonly file: string; readonly spec: ReplaySpec }>();
  /** Only the log contains the uids of projects. An entry of the project has it. */
  const uidOf = async ({ namespace, name }: ReplayRef): Promise<string | undefined> => {
    const [newest] = await store.summaries({ projectUid: EVERY_PROJECT, namespace, project: name, limit: 1 });
    return newest?.projectUid;
  };
  return {
    request: (id) => store.get(id),
    plan: async (project, { search, from, to }) => {
      const projectUid = await uidOf(project);
      if (projectUid === undefined) {
        const { namespace, name } = project;
        await checkProject(data, { namespace, project: name }, () => Promise.resolve(false));
        return { count: 0, first: [] };
      }
      const filter = { projectUid, search, since: from, until: to };
      const first = await store.summaries({ ...filter, order: 'oldest-first', limit: FIRST });
      return { count: await store.count(filter), first };
    },
    create: async (ref, spec) => {
      created.set(ref.name, { file: await acts.create(objectOf(ref, spec)), spec });
    },
    setState: async (ref, state) => {
      const known = created.get(ref.name);
      if (known !== undefined) await acts.change(objectOf(ref, { ...known.spec, state }), known.file);
    },
    read: async (ref) => {
      const seen = await acts.seen({ kind: 'Replay', ...ref });
      return seen && { uid: seen.uid, status: DEFINITIONS.Replay.status.safeParse(seen.status).data ?? {} };
    },
    answer: async (project, replayUid, requestId) => {
      const projectUid = await uidOf(project);
      return projectUid === undefined ? undefined : store.replays.answer({ projectUid, replayUid, requestId });
    },
    failures: async (project, replayUid, limit) => {
      const projectUid = await uidOf(project);
      return projectUid === undefined ? [] : store.replays.results({ projectUid, replayUid, status: 0, limit });
    },
    close: () => store.close(),
  };
};
