import { createdShareSchema } from '@standin/dashboard/api-schemas';
import type { z } from 'zod';
import { PlainError } from '../plain-error.ts';
import type { ApiClient } from '../server/api-client.ts';
import { openApi, type ApiOptions } from '../server/connect.ts';
import { chooseProject, findRequest, projectPath, type ProjectChoice } from '../server/projects.ts';

export interface CreateShareOptions extends ApiOptions, ProjectChoice {
  /** For example, `24h`. At most 30d. */
  readonly expiresIn: string;
}

/** Creates a link to a captured request. Rejects with a `PlainError` that explains why there is no link. */
export const createShare = async (
  requestId: string,
  { expiresIn, ...options }: CreateShareOptions,
): Promise<Omit<z.infer<typeof createdShareSchema>, 'path'> & { readonly url: string }> => {
  const api = await openApi(options);
  if (api.local?.hasPages === false)
    throw new PlainError('standin dev is running without its dashboard, which serves share links');
  const base = api.publicUrl();
  const project = api.local === undefined ? await chooseProject(api, options) : await findProjectPath(api, requestId);
  const body = { requestId, expiresIn };
  const request = { method: 'POST', path: `${project}/shares`, body } as const;
  const { path: link, ...made } = await api.ask(request, createdShareSchema);
  return { ...made, url: new URL(link, base).href };
};

/** Resolves with the API path of a request's project. */
const findProjectPath = async (api: ApiClient, id: string): Promise<string> => {
  const entry = await findRequest(api, id);
  if (entry === undefined)
    throw new PlainError(`there is no request ${id} in the log: list the ids with standin logs -o json`);
  return projectPath(entry.namespace, entry.project);
};
