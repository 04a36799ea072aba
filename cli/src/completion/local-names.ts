import { ownMember } from '@standin/contract';
import { z } from 'zod';
import type { ApiClient } from '../server/api-client.ts';
import { findLocal } from '../server/connect.ts';
import { listEndpoints } from '../server/endpoints.ts';
import { listProjects, requestsPath } from '../server/projects.ts';
import type { Candidate, Given } from './complete.ts';

const IDS_MAX = 20;

/** Resolves with the values of an option or argument, if `standin dev` is running and knows them. Never uses a server. */
export const localNames = async (what: string, given: Given): Promise<readonly Candidate[]> => {
  const find = ownMember(FINDERS, what);
  if (find === undefined || given['server'] !== undefined) return [];
  try {
    const api = await findLocal(given['data'] ?? '.standin');
    return api === undefined ? [] : await find(api, given);
  } catch {
    // An error must not appear in the middle of the command line that the user types.
    return [];
  }
};

type Find = (api: ApiClient, given: Given) => Promise<readonly Candidate[]>;

const projects: Find = async (api, { namespace }) =>
  (await listProjects(api, namespace)).map(({ namespace: of, name }) => ({ word: name, description: `in ${of}` }));

const endpoints: Find = async (api, { namespace, project }) =>
  (await listEndpoints(api, { namespace, project })).map(({ name, method, slug }) => ({
    word: name,
    description: `${method} ${slug}`,
  }));

const summariesSchema = z.object({
  items: z.array(z.object({ id: z.string(), method: z.string(), path: z.string(), status: z.number() })),
});

const ids: Find = async (api, { namespace, project }) => {
  const path = await requestsPath(api, { namespace, project });
  const { items } = await api.ask({ path, query: { view: 'summary', limit: IDS_MAX } }, summariesSchema);
  return items.map(({ id, method, path: of, status }) => ({ word: id, description: `${method} ${of} ${status}` }));
};

/** By the name of the option or argument. */
const FINDERS: Readonly<Record<string, Find>> = {
  project: projects,
  PROJECT: projects,
  endpoint: endpoints,
  ID: ids,
  TARGET: async (api, given) => [...(await projects(api, given)), ...(await ids(api, given))],
};
