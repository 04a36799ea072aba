import { randomBytes } from 'node:crypto';
import type { ResourceObject } from '@standin/contract';
import { DEFINITIONS } from '@standin/crds';
import { z } from 'zod';
import type { Backend } from '../backend.ts';
import { createProject } from '../projects/create-project.ts';
import { deleteProject, getProject, projectAddress } from '../projects/projects.ts';
import { endpointSpec } from '../resources/specs.ts';
import { invalidObject } from './applied-object.ts';
import { projectParams, timeout } from './parameters.ts';
import { ApiProblem } from './problems.ts';
import { defineRoute } from './route.ts';
import {
  createdProjectSchema,
  endpointListSchema,
  projectListSchema,
  projectSchema,
  type ApiEndpoint,
  type ApiProject,
} from './schemas.ts';
import { without } from './without.ts';

const ENDPOINTS_MAX = 100;
const NAME_BYTES = 5;
const PROJECT = '/namespaces/{namespace}/projects/{project}';

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
    path: PROJECT,
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
  defineRoute({
    method: 'POST',
    path: '/namespaces/{namespace}/projects',
    operationId: 'createProject',
    tag: 'Projects',
    summary: 'Create a project and its endpoints',
    description:
      'For test suites, which can create a project for each test file. Requires `create` on `mockprojects` and `mockendpoints`. The response comes when all gateways serve the endpoints, or after `timeout`. Either all objects are created, or none.',
    params: projectParams.pick({ namespace: true }),
    // Only the fields are checked here. The API server checks the cross-field rules.
    body: z.strictObject({
      name: z.string().min(1).max(253).optional().describe('Default: a generated name.'),
      temporary: z
        .boolean()
        .default(false)
        .describe(
          'Adds the label `standin.dev/temporary` to all objects. `standin dev` keeps them in its data folder instead of the directory of manifests, and deletes them when it starts again.',
        ),
      spec: z.strictObject(DEFINITIONS.Project.spec.shape),
      endpoints: z
        .array(
          z.strictObject({
            name: z.string().min(1).max(253).optional().describe('Default: the name of the project and a number.'),
            spec: z.strictObject(without(DEFINITIONS.Endpoint.spec.shape, 'projectRef')),
          }),
        )
        .max(ENDPOINTS_MAX)
        .default([]),
      timeout: timeout('10s', 'How long to wait for the gateways.'),
    }),
    answers: { 201: { description: 'Created.', content: { 'application/json': createdProjectSchema } } },
    problems: ['object_invalid', 'conflict', 'too_many_readers'],
    handle: async ({ backend, params: { namespace }, body, signal }) => {
      const { name = `project-${randomBytes(NAME_BYTES).toString('hex')}`, temporary, spec, timeout: timeoutMs } = body;
      const endpoints = body.endpoints.map((endpoint, index) => ({
        name: endpoint.name ?? `${name}-${index + 1}`,
        spec: endpoint.spec,
      }));
      const project = { namespace, name, isTemporary: temporary, spec, endpoints, timeoutMs };
      const created = await createProject(backend, project, signal);
      if (!created.ok) throw invalidObject(created.problems);
      const { isReady, message } = created;
      const found = await toApiProject(backend, created.project);
      return {
        kind: 'json',
        status: 201,
        body: { ...found, endpoints: endpoints.map((endpoint) => endpoint.name), isReady, message },
      };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: PROJECT,
    operationId: 'deleteProject',
    tag: 'Projects',
    summary: 'Delete a project and its endpoints',
    description:
      'Deletes the endpoints first. Gateways stop responding a moment later. Captured requests remain until they expire. To delete them, create a Purge first. Deletes nothing if a GitOps tool manages one of the objects.',
    params: projectParams,
    answers: { 204: { description: 'Deleted.' } },
    problems: ['project_not_found', 'object_not_found', 'conflict'],
    handle: async ({ backend, params }) => {
      const refusal = await deleteProject(backend, await getProject(backend, params), { withEndpoints: true });
      if (refusal !== undefined) throw new ApiProblem('conflict', refusal);
      return { kind: 'empty' };
    },
  }),
];
