import { refusedRequests } from '../refusals/refused-requests.ts';
import { projectParams } from './parameters.ts';
import { defineRoute } from './route.ts';
import { refusedListSchema } from './schemas.ts';

export const refusalRoutes = [
  defineRoute({
    method: 'GET',
    path: '/namespaces/{namespace}/projects/{project}/refusals',
    operationId: 'listRefusedRequests',
    tag: 'Requests',
    summary: 'List the requests that gateways refused within the last hour',
    description:
      'Refused requests are counted, not captured. The counts are in the memory of the gateways, and a gateway that restarts loses its counts. Requires permission to read the log.',
    params: projectParams,
    answers: {
      200: { description: 'The most recent first, at most 200.', content: { 'application/json': refusedListSchema } },
    },
    problems: ['project_not_found', 'resources_unavailable'],
    handle: async ({ backend, params }) => {
      const { missing, ...refused } = await refusedRequests(backend, params);
      return { kind: 'json', body: refusedListSchema.parse({ ...refused, missingGateways: missing }) };
    },
  }),
];
