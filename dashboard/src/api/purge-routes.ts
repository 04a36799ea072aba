import type { ResourceObject } from '@standin/contract';
import { DEFINITIONS, readStatus } from '@standin/crds';
import { z } from 'zod';
import { getProject } from '../projects/projects.ts';
import { createPurge } from '../purges/purges.ts';
import { getInProject, listInProject } from '../resources/in-project.ts';
import { appliedObject } from './applied-object.ts';
import { projectParams } from './parameters.ts';
import { defineRoute } from './route.ts';
import { purgeListSchema, purgeSchema, type ApiPurge } from './schemas.ts';
import { without } from './without.ts';

const PURGES = '/namespaces/{namespace}/projects/{project}/purges';

const toApiPurge = ({ metadata, spec, status }: ResourceObject): ApiPurge => {
  const { namespace, name, uid, creationTimestamp: createdAt } = metadata;
  return {
    namespace,
    name,
    uid,
    createdAt,
    spec: DEFINITIONS.Purge.spec.parse(spec),
    status: readStatus('Purge', status),
  };
};

export const purgeRoutes = [
  defineRoute({
    method: 'GET',
    path: PURGES,
    operationId: 'listPurges',
    tag: 'Purges',
    summary: 'List project purges',
    params: projectParams,
    answers: { 200: { description: 'Newest first.', content: { 'application/json': purgeListSchema } } },
    problems: ['project_not_found'],
    handle: async ({ backend, params }) => {
      await getProject(backend, params);
      const items = (await listInProject(backend, 'Purge', params)).map(toApiPurge);
      return { kind: 'json', body: { items } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: PURGES,
    operationId: 'createPurge',
    tag: 'Purges',
    summary: 'Permanently delete captured requests',
    description:
      'Creates a Purge, which the operator carries out. Requires `create` on `mockpurges`. Requests that are received after the creation are kept. ' +
      '`status.phase` is `Completed` when the log has no matching request left. While it is `Waiting`, `status.waitingFor` lists what may still hold matching requests.',
    params: projectParams,
    // Only the fields are checked here. The API server checks the cross-field rules.
    body: z.strictObject({
      name: z.string().min(1).max(253).optional().describe('Default: a generated name.'),
      ...without(DEFINITIONS.Purge.spec.shape, 'projectRef'),
    }),
    answers: { 201: { description: 'Created.', content: { 'application/json': purgeSchema } } },
    problems: ['project_not_found', 'object_invalid', 'conflict'],
    handle: async ({ backend, params, body }) => {
      const created = appliedObject(await createPurge(backend, params, body));
      return { kind: 'json', status: 201, body: toApiPurge(created) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${PURGES}/{purge}`,
    operationId: 'getPurge',
    tag: 'Purges',
    summary: 'Get a purge and its progress',
    params: projectParams.extend({ purge: z.string().min(1).max(253).describe('Purge name.') }),
    answers: { 200: { description: 'The Purge.', content: { 'application/json': purgeSchema } } },
    problems: ['purge_not_found'],
    handle: async ({ backend, params: { purge: name, ...project } }) => ({
      kind: 'json',
      body: toApiPurge(await getInProject(backend, 'Purge', { ...project, name })),
    }),
  }),
];
