import { expectationSchema } from '@standin/dashboard/api-schemas';
import type { ExpectationSpec, ExpectationStatus } from '@standin/crds';
import { apiPath, orUndefined, type ApiClient } from '../server/api-client.ts';
import { chooseProject, withProjectNames, type ProjectChoice } from '../server/projects.ts';

/** Which requests are expected, how many and until when. */
export type ExpectRequest = Omit<ExpectationSpec, 'projectRef'>;

/** Creates and reads Expectations through the JSON API. */
export const expectClient = (api: ApiClient) => ({
  /** Resolves with the API path of the project, which the other functions take. */
  choose: (choice: ProjectChoice): Promise<string> => chooseProject(api, choice),
  /** Rejects with a `ServerError`, whose status is 409 if there is an Expectation of this name. */
  create: (project: string, name: string, { choice, request }: { choice: ProjectChoice; request: ExpectRequest }) => {
    const creation = { method: 'POST', path: `${project}/expectations`, body: { name, ...request } } as const;
    return withProjectNames(api, choice, api.ask(creation, expectationSchema));
  },
  /** Resolves with the status, which is empty until the operator has written one, or with undefined if there is no such Expectation. */
  status: async (project: string, name: string): Promise<ExpectationStatus | undefined> =>
    (await orUndefined(api.ask({ path: `${project}${apiPath('expectations', name)}` }, expectationSchema)))?.status,
});

export type ExpectClient = ReturnType<typeof expectClient>;
