import { endpointListSchema, type ApiEndpoint } from '@standin/dashboard/api-schemas';
import { formatFilter } from '@standin/exchange/search';
import { z } from 'zod';
import type { ApiClient } from './api-client.ts';
import { missingObject, type ProjectChoice } from './projects.ts';

/** Resolves with the endpoints that the user can see. */
export const listEndpoints = async (
  api: ApiClient,
  { namespace, project }: ProjectChoice,
): Promise<readonly ApiEndpoint[]> => {
  const { items } = await api.ask({ path: '/endpoints', query: { namespace } }, endpointListSchema);
  return items.filter((one) => project === undefined || one.project === project);
};

const countSchema = z.object({ count: z.number() });

/**
 * Rejects with a `PlainError` if the selected endpoint does not exist, and the log has no requests to a former one with that name.
 *
 * @param requests the API path of the log
 */
export const checkEndpoint = async (
  api: ApiClient,
  choice: ProjectChoice & { readonly endpoint?: string | undefined },
  requests: string,
): Promise<void> => {
  const { endpoint, namespace } = choice;
  if (endpoint === undefined) return;
  const known = await listEndpoints(api, choice);
  const missing = missingObject('endpoint', known, { namespace, name: endpoint });
  if (missing === undefined) return;
  const q = formatFilter({ kind: 'matches', field: 'endpoint', pattern: [endpoint] });
  const { count } = await api.ask({ path: `${requests}:count`, query: { q, settled: 'false' } }, countSchema);
  if (count === 0) throw missing;
};
