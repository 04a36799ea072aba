import type { ResourceObject } from '@standin/contract';
import { DEFINITIONS, readStatus } from '@standin/crds';
import { z } from 'zod';
import { createExpectation } from '../expectations/expectations.ts';
import { getProject } from '../projects/projects.ts';
import { getInProject, listInProject } from '../resources/in-project.ts';
import { appliedObject } from './applied-object.ts';
import { projectParams, searchFilter } from './parameters.ts';
import { defineRoute } from './route.ts';
import { expectationListSchema, expectationSchema, type ApiExpectation } from './schemas.ts';
import { without } from './without.ts';

const EXPECTATIONS = '/namespaces/{namespace}/projects/{project}/expectations';
const expectationParams = projectParams.extend({
  expectation: z.string().min(1).max(253).describe('Expectation name.'),
});

const toApiExpectation = ({ metadata, spec, status }: ResourceObject): ApiExpectation => {
  const { namespace, name, uid, creationTimestamp: createdAt } = metadata;
  return {
    namespace,
    name,
    uid,
    createdAt,
    spec: DEFINITIONS.Expectation.spec.parse(spec),
    status: readStatus('Expectation', status),
  };
};

export const expectationRoutes = [
  defineRoute({
    method: 'GET',
    path: EXPECTATIONS,
    operationId: 'listExpectations',
    tag: 'Expectations',
    summary: 'List project expectations',
    params: projectParams,
    answers: { 200: { description: 'Newest first.', content: { 'application/json': expectationListSchema } } },
    problems: ['project_not_found'],
    handle: async ({ backend, params }) => {
      await getProject(backend, params);
      const items = (await listInProject(backend, 'Expectation', params)).map(toApiExpectation);
      return { kind: 'json', body: { items } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: EXPECTATIONS,
    operationId: 'createExpectation',
    tag: 'Expectations',
    summary: 'Expect a number of requests',
    description:
      'Creates an Expectation, which the operator decides. Requires `create` on `mockexpectations`. ' +
      'At its end, the condition `Decided` is `True` with the reason `Met`, `Unmet` or `Undetermined`.',
    params: projectParams,
    // Only the fields are checked here. The API server checks the cross-field rules.
    body: z.strictObject({
      name: z.string().min(1).max(253).optional().describe('Default: a generated name.'),
      ...without(DEFINITIONS.Expectation.spec.shape, 'projectRef'),
    }),
    answers: { 201: { description: 'Created.', content: { 'application/json': expectationSchema } } },
    problems: ['project_not_found', 'search_invalid', 'object_invalid', 'conflict'],
    handle: async ({ backend, params, body }) => {
      searchFilter(body.filter?.search);
      const created = appliedObject(await createExpectation(backend, params, body));
      return { kind: 'json', status: 201, body: toApiExpectation(created) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${EXPECTATIONS}/{expectation}`,
    operationId: 'getExpectation',
    tag: 'Expectations',
    summary: 'Get an expectation and its result',
    params: expectationParams,
    answers: { 200: { description: 'The Expectation.', content: { 'application/json': expectationSchema } } },
    problems: ['expectation_not_found'],
    handle: async ({ backend, params: { expectation: name, ...project } }) => ({
      kind: 'json',
      body: toApiExpectation(await getInProject(backend, 'Expectation', { ...project, name })),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${EXPECTATIONS}/{expectation}`,
    operationId: 'deleteExpectation',
    tag: 'Expectations',
    summary: 'Delete an expectation',
    params: expectationParams,
    answers: { 204: { description: 'Deleted.' } },
    problems: ['expectation_not_found'],
    handle: async ({ backend, params: { expectation: name, ...project } }) => {
      const { metadata } = await getInProject(backend, 'Expectation', { ...project, name });
      const { namespace, uid } = metadata;
      await backend.resources.delete({ kind: 'Expectation', namespace, name }, uid);
      return { kind: 'empty' };
    },
  }),
];
