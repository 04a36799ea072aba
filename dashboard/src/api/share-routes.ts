import { LIMITS } from '@standin/contract';
import { z } from 'zod';
import { getProject } from '../projects/projects.ts';
import { createShare, type CreateShareResult } from '../shares/create-share.ts';
import { listShares, revokeShare } from '../shares/list-shares.ts';
import { invalidObject } from './applied-object.ts';
import { lifetime, projectParams } from './parameters.ts';
import { ApiProblem, type ApiProblemCode } from './problems.ts';
import { defineRoute } from './route.ts';
import { createdShareSchema, shareListSchema } from './schemas.ts';

const SHARES = '/namespaces/{namespace}/projects/{project}/shares';
const redactedNames = z
  .array(z.string().min(1).max(LIMITS.redactedNameLengthMax))
  .max(LIMITS.redactedNamesMax)
  .default([]);

const createBody = z.strictObject({
  requestId: z.string().min(1).max(64),
  expiresIn: lifetime,
  redact: z
    .strictObject({ headers: redactedNames, query: redactedNames, jsonPaths: redactedNames })
    .optional()
    .describe(
      'Values to redact besides credentials. Default: values of the request and its response that look like secrets.',
    ),
});

const REFUSED: Readonly<Record<'NotInPlan' | 'ProjectNotFound' | 'RequestNotFound' | 'Refused', ApiProblemCode>> = {
  NotInPlan: 'plan_required',
  ProjectNotFound: 'project_not_found',
  RequestNotFound: 'request_not_found',
  Refused: 'object_refused',
};

const refusalProblem = (result: Extract<CreateShareResult, { readonly ok: false }>): ApiProblem =>
  result.reason === 'Invalid' ? invalidObject(result.problems) : new ApiProblem(REFUSED[result.reason], result.message);

export const shareRoutes = [
  defineRoute({
    method: 'GET',
    path: SHARES,
    operationId: 'listShares',
    tag: 'Shares',
    summary: 'List project links to captured requests',
    params: projectParams,
    answers: { 200: { description: 'Newest first.', content: { 'application/json': shareListSchema } } },
    problems: ['project_not_found'],
    handle: async ({ backend, params }) => {
      await getProject(backend, params);
      const items = await listShares(backend.resources, params);
      return { kind: 'json', body: { items } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: SHARES,
    operationId: 'createShare',
    tag: 'Shares',
    summary: 'Create a public link to a captured request',
    params: projectParams,
    body: createBody,
    answers: { 201: { description: 'The link.', content: { 'application/json': createdShareSchema } } },
    problems: [
      ...(['plan_required', 'project_not_found', 'request_not_found', 'object_refused'] as const),
      ...(['object_invalid', 'log_unavailable', 'request_too_heavy', 'busy'] as const),
    ],
    handle: async ({ backend, workers, params, body }) => {
      const { requestId, expiresIn: lifetimeMs, redact } = body;
      const result = await createShare({ backend, workers }, { ...params, requestId, lifetimeMs, redact });
      if (!result.ok) throw refusalProblem(result);
      const { name, path, expiresAt, isAccepted } = result;
      return { kind: 'json', status: 201, body: { name, path, expiresAt, isAccepted } };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: `${SHARES}/{share}`,
    operationId: 'revokeShare',
    tag: 'Shares',
    summary: 'Revoke a link',
    params: projectParams.extend({ share: z.string().min(1).max(253).describe('Share name.') }),
    answers: { 204: { description: 'The link no longer works.' } },
    problems: ['share_not_found'],
    handle: async ({ backend, params: { share, ...names } }) => {
      if (!(await revokeShare(backend.resources, names, share))) throw new ApiProblem('share_not_found');
      return { kind: 'empty' };
    },
  }),
];
