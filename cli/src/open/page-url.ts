import { PlainError } from '../plain-error.ts';
import { apiPath, type ApiClient } from '../server/api-client.ts';
import { listEndpoints } from '../server/endpoints.ts';
import { findProject, findRequest, missingObject } from '../server/projects.ts';

const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Resolves with the URL of a page of the dashboard. Rejects with a `PlainError` if there is no such request, project or endpoint.
 *
 * @param target the id of a request, `PROJECT` or `PROJECT/ENDPOINT`. If undefined, the page is the dashboard's first one.
 */
export const pageUrl = async (
  api: ApiClient,
  target: string | undefined,
  namespace: string | undefined,
): Promise<string> => {
  if (api.local?.hasPages === false)
    throw new PlainError('standin dev is running without its dashboard: start it without --no-dashboard');
  const path = target === undefined ? '/' : await pagePath(api, target, namespace);
  const base = api.publicUrl();
  const url = new URL(`${base.pathname.replace(/\/+$/, '')}${path}`, base);
  if (api.local?.token !== undefined) url.searchParams.set('token', api.local.token);
  return url.href;
};

const pagePath = async (api: ApiClient, target: string, namespace: string | undefined): Promise<string> => {
  if (REQUEST_ID.test(target)) {
    const request = await findRequest(api, target);
    if (request === undefined)
      throw new PlainError(`there is no request ${target} in the log: list the ids with standin logs -o json`);
    return apiPath('p', request.namespace, request.project, 'traffic', request.id);
  }
  const [project = '', endpoint, ...more] = target.split('/');
  if (more.length > 0) throw new PlainError(`${target} must be the id of a request, PROJECT or PROJECT/ENDPOINT`);
  const { namespace: of, name } = await findProject(api, { namespace, project });
  if (endpoint === undefined) return apiPath('p', of, name, 'traffic');
  const known = await listEndpoints(api, { namespace: of, project: name });
  const missing = missingObject('endpoint', known, { name: endpoint });
  if (missing !== undefined) throw missing;
  return apiPath('p', of, name, 'endpoints', endpoint);
};
