import type { ResourceObject } from '@standin/contract';
import { z } from 'zod';
import type { Backend } from '../backend.ts';
import { getProject, projectAddress } from '../projects/projects.ts';
import { endpointSpec } from '../resources/specs.ts';
import { projectParams } from './parameters.ts';
import { defineRoute } from './route.ts';
import { endpointListSchema, projectListSchema, projectSchema, type ApiEndpoint, type ApiProject } from './schemas.ts';

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Converts a Project. Does not require a valid spec or status, so that invalid objects are listed too. */
const toApiProject = async (backend: Backend, project: ResourceObject): Promise<ApiProject> => {
  const { metadata, spec } = project;
  const { displayName } = (spec ?? {}) as { readonly displayName?: unknown };
  const address = await projectAddress(backend, project);
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    displayName: text(displayName) ?? metadata.name,
    ...(address !== undefined && { url: address.url }),
  };
};

/** Converts an Endpoint. Does not require a valid spec. */
const toApiEndpoint = (object: ResourceObject): ApiEndpoint => {
  const { projectRef, method, slug } = endpointSpec(object);
  const { namespace, name } = object.metadata;
  return { namespace, name, project: projectRef?.name ?? '', method: method ?? '', slug: slug ?? '' };
};

const listQuery = z.strictObject({
  namespace: z.string().min(1).max(253).optional().describe('Return only items in this namespace.'),
});

export const projectRoutes = [
  defineRoute({
    method: 'GET',
    path: '/projects',
    operationId: 'listProjects',
    tag: 'Projects',
    summary: 'List the projects that you can see',
    params: z.object({}),
    query: listQuery,
    answers: {
      200: { description: 'Sorted by namespace and name.', content: { 'application/json': projectListSchema } },
    },
    problems: [],
    handle: async ({ backend, query }) => {
      const projects = await backend.resources.list('Project', query.namespace);
      return {
        kind: 'json',
        body: { items: await Promise.all(projects.map((project) => toApiProject(backend, project))) },
      };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/endpoints',
    operationId: 'listEndpoints',
    tag: 'Projects',
    summary: 'List the endpoints that you can see',
    params: z.object({}),
    query: listQuery,
    answers: {
      200: { description: 'Sorted by namespace and name.', content: { 'application/json': endpointListSchema } },
    },
    problems: [],
    handle: async ({ backend, query }) => {
      const endpoints = await backend.resources.list('Endpoint', query.namespace);
      return { kind: 'json', body: { items: endpoints.map(toApiEndpoint) } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/namespaces/{namespace}/projects/{project}',
    operationId: 'getProject',
    tag: 'Projects',
    summary: 'Get a project',
    params: projectParams,
    answers: { 200: { description: 'The project.', content: { 'application/json': projectSchema } } },
    problems: ['project_not_found'],
    handle: async ({ backend, params }) => {
      const project = await getProject(backend, params);
      return { kind: 'json', body: await toApiProject(backend, project) };
    },
  }),
];
