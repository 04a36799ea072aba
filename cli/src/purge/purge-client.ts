import { countSchema, purgeSchema } from '@standin/dashboard/api-schemas';
import type { PurgeSpec, PurgeStatus } from '@standin/crds';
import { apiPath, orUndefined, type ApiClient } from '../server/api-client.ts';
import { chooseProject, withProjectNames, type ProjectChoice } from '../server/projects.ts';

/** Which requests a purge deletes, and why. */
export type PurgeRequest = Omit<PurgeSpec, 'projectRef'>;

/** Counts and purges captured requests through the JSON API. */
export const purgeClient = (api: ApiClient) => ({
  /** Resolves with the API path of the project, which the other functions take. */
  choose: (choice: ProjectChoice): Promise<string> => chooseProject(api, choice),
  /** Rejects with a `ServerError` if the log cannot be read, or is too slow. */
  count: async (project: string, choice: ProjectChoice, { filter }: PurgeRequest): Promise<number> => {
    const { search: q, from, to } = filter;
    const counting = api.ask(
      { path: `${project}/requests:count`, query: { q, from, to, settled: 'false' } },
      countSchema,
    );
    return (await withProjectNames(api, choice, counting)).count;
  },
  /** Rejects with a `ServerError`, whose status is 409 if there is a Purge of this name. */
  create: (project: string, name: string, request: PurgeRequest) =>
    api.ask({ method: 'POST', path: `${project}/purges`, body: { name, ...request } }, purgeSchema),
  /** Resolves with the status, which is empty until the operator has written one, or with undefined if there is no such Purge. */
  status: async (project: string, name: string): Promise<PurgeStatus | undefined> =>
    (await orUndefined(api.ask({ path: `${project}${apiPath('purges', name)}` }, purgeSchema)))?.status,
});

export type PurgeClient = ReturnType<typeof purgeClient>;
