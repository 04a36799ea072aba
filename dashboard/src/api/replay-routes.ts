import { randomBytes } from 'node:crypto';
import { GROUP_VERSION, REPLAY_STATES, type ResourceObject } from '@standin/contract';
import { DEFINITIONS, parseObject } from '@standin/crds';
import { z } from 'zod';
import { applyObject } from './apply-object.ts';
import { projectParams } from './parameters.ts';
import { ApiProblem } from './problems.ts';
import { logOf, projectOf, type ProjectCall } from './project-routes.ts';
import { defineRoute, type ApiCall } from './route.ts';
import {
  replayAnswerSchema,
  replayListSchema,
  replayResultListSchema,
  replaySchema,
  type ApiReplay,
} from './schemas.ts';
import { without } from './without.ts';

const REPLAYS = '/namespaces/{namespace}/projects/{project}/replays';
const replayParams = projectParams.extend({ replay: z.string().min(1).max(253).describe('Name of the Replay.') });
const resultParams = replayParams.extend({ id: z.string().min(1).max(64).describe('Of the captured request.') });
const RESULTS_MAX = 1_000;

/** The API server checks the rules between fields. */
const createBody = z.strictObject({
  name: z.string().min(1).max(253).optional().describe('Default: one that nothing else has.'),
  spec: z
    .strictObject(without(DEFINITIONS.Replay.spec.shape, 'projectRef'))
    .describe('As of the custom resource Replay, whose project is that of the path.'),
});

/** Undefined: the object belongs to another project, or cannot be parsed. */
const toApiReplay = (object: ResourceObject, project: string): ApiReplay | undefined => {
  const parsed = parseObject(object);
  if (!parsed.ok || parsed.value.kind !== 'Replay' || parsed.value.spec.projectRef.name !== project) return undefined;
  const { namespace, name, uid, creationTimestamp: createdAt } = object.metadata;
  const status = DEFINITIONS.Replay.status.safeParse(object.status).data ?? {};
  return { namespace, name, uid, createdAt, spec: parsed.value.spec, status };
};

type ReplayCall = Pick<ApiCall<z.output<typeof replayParams>, unknown, unknown>, 'backend' | 'params'>;

const objectOf = async ({ backend, params: { namespace, project, replay } }: ReplayCall) => {
  const object = await backend.resources.get({ kind: 'Replay', namespace, name: replay });
  const shown = object && toApiReplay(object, project);
  if (object === undefined || shown === undefined) throw new ApiProblem('replay_not_found');
  return { object, shown };
};

const resultsOf = async (call: ReplayCall & ProjectCall) => {
  const { shown } = await objectOf(call);
  return { replays: (await logOf(call)).replays, uid: shown.uid };
};

export const replayRoutes = [
  defineRoute({
    method: 'GET',
    path: REPLAYS,
    operationId: 'listReplays',
    tag: 'Replays',
    summary: 'Replays of a project',
    params: projectParams,
    answers: { 200: { description: 'The newest first.', content: { 'application/json': replayListSchema } } },
    problems: ['project_not_found'],
    handle: async (call) => {
      await projectOf(call);
      const { namespace, project } = call.params;
      const items = (await call.backend.resources.list('Replay', namespace))
        .flatMap((object) => toApiReplay(object, project) ?? [])
        .sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
      return { kind: 'json', body: { items } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: REPLAYS,
    operationId: 'createReplay',
    tag: 'Replays',
    summary: 'Send captured requests again',
    description: 'Creates a Replay, which the operator carries out; `status.phase` says how far it is.',
    params: projectParams,
    body: createBody,
    answers: { 201: { description: 'It is created.', content: { 'application/json': replaySchema } } },
    problems: ['project_not_found', 'object_invalid', 'conflict'],
    handle: async (call) => {
      await projectOf(call);
      const { namespace, project } = call.params;
      const { name = `replay-${randomBytes(4).toString('hex')}`, spec } = call.body;
      const desired = {
        apiVersion: GROUP_VERSION,
        kind: 'Replay' as const,
        metadata: { namespace, name },
        spec: { projectRef: { name: project }, ...spec },
      };
      const created = await applyObject(call.backend, desired, 'absent');
      return { kind: 'json', status: 201, body: toApiReplay(created, project) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${REPLAYS}/{replay}`,
    operationId: 'getReplay',
    tag: 'Replays',
    summary: 'One replay, and how far it is',
    params: replayParams,
    answers: { 200: { description: 'The Replay.', content: { 'application/json': replaySchema } } },
    problems: ['replay_not_found'],
    handle: async (call) => ({ kind: 'json', body: (await objectOf(call)).shown }),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${REPLAYS}/{replay}`,
    operationId: 'changeReplay',
    tag: 'Replays',
    summary: 'Pause, resume or cancel a replay',
    params: replayParams,
    body: z.strictObject({ state: z.enum(REPLAY_STATES) }),
    answers: { 200: { description: 'It is changed.', content: { 'application/json': replaySchema } } },
    problems: ['replay_not_found', 'object_invalid', 'conflict'],
    handle: async (call) => {
      const { object, shown } = await objectOf(call);
      const { namespace, name } = object.metadata;
      const spec = { ...shown.spec, state: call.body.state };
      const desired = { apiVersion: GROUP_VERSION, kind: 'Replay' as const, metadata: { namespace, name }, spec };
      const changed = await applyObject(call.backend, desired, object.metadata.generation);
      return { kind: 'json', body: toApiReplay(changed, call.params.project) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${REPLAYS}/{replay}/results`,
    operationId: 'listReplayResults',
    tag: 'Replays',
    summary: 'What came back, by request',
    params: replayParams,
    query: z.strictObject({
      status: z.coerce.number().int().min(0).max(999).optional().describe('Only this status; 0: without an answer.'),
      limit: z.coerce.number().int().min(1).max(RESULTS_MAX).default(100).describe('At most so many.'),
    }),
    answers: {
      200: { description: 'In the order of the requests.', content: { 'application/json': replayResultListSchema } },
    },
    problems: ['replay_not_found', 'project_not_found', 'log_unavailable'],
    handle: async (call) => {
      const { replays, uid } = await resultsOf(call);
      return { kind: 'json', body: { items: await replays.results(uid, call.query) } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${REPLAYS}/{replay}/results/{id}`,
    operationId: 'getReplayResult',
    tag: 'Replays',
    summary: 'The whole answer to one request',
    params: resultParams,
    answers: { 200: { description: 'Of the last attempt.', content: { 'application/json': replayAnswerSchema } } },
    problems: ['replay_not_found', 'project_not_found', 'request_not_found', 'log_unavailable'],
    handle: async (call) => {
      const { replays, uid } = await resultsOf(call);
      const answer = await replays.answer(uid, call.params.id);
      if (answer !== undefined) return { kind: 'json', body: answer };
      throw new ApiProblem('request_not_found', 'This replay has no result for this request (yet).');
    },
  }),
];
