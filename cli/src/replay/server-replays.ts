import {
  countSchema,
  projectListSchema,
  replayAnswerSchema,
  replayResultListSchema,
  replaySchema,
  requestSchema,
  summarySchema,
} from '@standin/dashboard/api-schemas';
import { formatFilter } from '@standin/exchange/search';
import { z } from 'zod';
import { apiPath, ServerError, type ApiClient } from '../server/api-client.ts';
import { projectPath } from '../server/choose-project.ts';
import { withProjectNames } from '../server/list-projects.ts';
import type { ReplayClient, ReplayRef } from './replay-client.ts';

const FIRST = 5;
const summaryListSchema = z.object({ items: z.array(summarySchema) });

/** The response; `undefined` for 404. */
const orUndefined = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ServerError && error.status === 404) return undefined;
    throw error;
  }
};

/** Replays of a cluster, through the API of its dashboard. */
export const openServerReplays = (client: ApiClient): ReplayClient => {
  /** The API path of each Replay of this command, by its name and by its uid. */
  const pathOf = new Map<string, string>();
  const replayPath = (key: string): string => {
    const path = pathOf.get(key);
    if (path === undefined) throw new Error(`this command created no replay ${key}`);
    return path;
  };
  const keyOf = ({ namespace, name }: ReplayRef): string => `${namespace}/${name}`;
  return {
    request: async (id) => {
      const { items } = await client.ask({ path: '/projects' }, projectListSchema);
      for (const { namespace, name } of items) {
        const path = `${projectPath(namespace, name)}${apiPath('requests', id)}`;
        const found = await client.ask({ path }, requestSchema).catch((error: unknown) => {
          // It belongs to another project, or to one whose log the user may not read.
          if (error instanceof ServerError && (error.status === 404 || error.status === 403)) return undefined;
          throw error;
        });
        if (found !== undefined) return found;
      }
      return undefined;
    },
    plan: async (project, { search, from, to }) => {
      const path = `${projectPath(project.namespace, project.name)}/requests`;
      const q = search && formatFilter(search);
      const filter = { q, from: from.toISOString(), to: to.toISOString() };
      const counting = client.ask({ path: `${path}:count`, query: filter }, countSchema);
      const { count } = await withProjectNames(client, project.namespace, counting);
      const query = { ...filter, order: 'oldest-first', limit: FIRST, view: 'summary' };
      return { count, first: (await client.ask({ path, query }, summaryListSchema)).items };
    },
    create: async (ref, { projectRef, ...spec }) => {
      const path = `${projectPath(ref.namespace, projectRef.name)}/replays`;
      const body = { name: ref.name, spec };
      const { uid } = await client.ask({ method: 'POST', path, body }, replaySchema);
      for (const key of [keyOf(ref), uid]) pathOf.set(key, `${path}${apiPath(ref.name)}`);
    },
    setState: async (ref, state) => {
      await client.ask({ method: 'PATCH', path: replayPath(keyOf(ref)), body: { state } }, replaySchema);
    },
    read: async (ref) => {
      const replay = await orUndefined(client.ask({ path: replayPath(keyOf(ref)) }, replaySchema));
      return replay && { uid: replay.uid, status: replay.status };
    },
    answer: async (_project, replayUid, requestId) => {
      const path = `${replayPath(replayUid)}${apiPath('results', requestId)}`;
      const answer = await orUndefined(client.ask({ path }, replayAnswerSchema));
      return answer && { ...answer, request: { ...answer.request, body: answer.request.body } };
    },
    failures: async (_project, replayUid, limit) => {
      const request = { path: `${replayPath(replayUid)}/results`, query: { status: 0, limit } };
      return (await client.ask(request, replayResultListSchema)).items;
    },
    close: () => Promise.resolve(),
  };
};
