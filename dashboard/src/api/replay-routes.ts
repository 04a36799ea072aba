import { REPLAY_STATES, type ResourceObject } from '@standin/contract';
import { DEFINITIONS, readStatus } from '@standin/crds';
import { z } from 'zod';
import { getProject, openLog } from '../projects/projects.ts';
import { replayObject } from '../replays/replay-object.ts';
import { getReplay, listReplays, newReplayName, setReplayState } from '../replays/replays.ts';
import { NotFound } from '../resources/not-found.ts';
import { validSpec } from '../resources/specs.ts';
import { appliedObject } from './applied-object.ts';
import { projectParams } from './parameters.ts';
import { defineRoute, type ApiCall } from './route.ts';
import {
  replayedExchangeSchema,
  replayListSchema,
  replayResultListSchema,
  replaySchema,
  type ApiReplay,
} from './schemas.ts';
import { without } from './without.ts';

const REPLAYS = '/namespaces/{namespace}/projects/{project}/replays';
const replayParams = projectParams.extend({ replay: z.string().min(1).max(253).describe('Replay name.') });
const resultParams = replayParams.extend({ id: z.string().min(1).max(64).describe('Captured request id.') });
const RESULTS_MAX = 1_000;

/** Only the fields are checked here. The API server checks the cross-field rules. */
const createBody = z.strictObject({
  name: z.string().min(1).max(253).optional().describe('Default: a generated name.'),
  spec: z
    .strictObject(without(DEFINITIONS.Replay.spec.shape, 'projectRef'))
    .describe('A Replay spec without projectRef. The project comes from the path.'),
});

/** Converts a Replay. Returns undefined if the object is invalid. */
const toApiReplay = (object: ResourceObject): ApiReplay | undefined => {
  const spec = validSpec('Replay', object);
  if (spec === undefined) return undefined;
  const { namespace, name, uid, creationTimestamp: createdAt } = object.metadata;
  const status = readStatus('Replay', object.status);
  return { namespace, name, uid, createdAt, spec, status };
};

const shownReplay = (object: ResourceObject): ApiReplay => {
  const shown = toApiReplay(object);
  if (shown === undefined) throw new NotFound('replay', `replay ${object.metadata.name}`);
  return shown;
};

type ReplayCall = Pick<ApiCall<z.output<typeof replayParams>, unknown, unknown>, 'backend' | 'params'>;

const openReplays = async ({ backend, params }: ReplayCall) => {
  const { uid } = (await getReplay(backend, params)).metadata;
  return { replays: (await openLog(backend, params)).replays, uid };
};

export const replayRoutes = [
  defineRoute({
    method: 'GET',
    path: REPLAYS,
    operationId: 'listReplays',
    tag: 'Replays',
    summary: 'List project replays',
    params: projectParams,
    answers: { 200: { description: 'Newest first.', content: { 'application/json': replayListSchema } } },
    problems: ['project_not_found'],
    handle: async ({ backend, params }) => {
      await getProject(backend, params);
      const items = (await listReplays(backend, params)).flatMap((object) => toApiReplay(object) ?? []);
      return { kind: 'json', body: { items } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: REPLAYS,
    operationId: 'createReplay',
    tag: 'Replays',
    summary: 'Replay captured requests',
    description: 'Creates a Replay, which the operator carries out. `status.phase` shows its progress.',
    params: projectParams,
    body: createBody,
    answers: { 201: { description: 'Created.', content: { 'application/json': replaySchema } } },
    problems: ['project_not_found', 'object_invalid', 'conflict'],
    handle: async ({ backend, params, body: { name = newReplayName(), spec } }) => {
      await getProject(backend, params);
      const desired = replayObject({ ...params, name }, spec);
      const created = appliedObject(await backend.resources.apply(desired, 'absent'));
      return { kind: 'json', status: 201, body: shownReplay(created) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${REPLAYS}/{replay}`,
    operationId: 'getReplay',
    tag: 'Replays',
    summary: 'Get a replay and its progress',
    params: replayParams,
    answers: { 200: { description: 'The Replay.', content: { 'application/json': replaySchema } } },
    problems: ['replay_not_found'],
    handle: async ({ backend, params }) => ({ kind: 'json', body: shownReplay(await getReplay(backend, params)) }),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${REPLAYS}/{replay}`,
    operationId: 'changeReplay',
    tag: 'Replays',
    summary: 'Pause, resume or cancel a replay',
    params: replayParams,
    body: z.strictObject({ state: z.enum(REPLAY_STATES) }),
    answers: { 200: { description: 'Changed.', content: { 'application/json': replaySchema } } },
    problems: ['replay_not_found', 'object_invalid', 'conflict'],
    handle: async ({ backend, params, body }) => {
      const replay = await getReplay(backend, params);
      const result = await setReplayState(backend, replay, body.state, replay.metadata);
      return { kind: 'json', body: shownReplay(appliedObject(result)) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${REPLAYS}/{replay}/results`,
    operationId: 'listReplayResults',
    tag: 'Replays',
    summary: 'List replay results',
    params: replayParams,
    query: z.strictObject({
      status: z.coerce
        .number()
        .int()
        .min(0)
        .max(999)
        .optional()
        .describe('Only results with this status. 0 selects those without a response.'),
      limit: z.coerce.number().int().min(1).max(RESULTS_MAX).default(100).describe('Maximum number of items.'),
    }),
    answers: {
      200: { description: 'In the order of the requests.', content: { 'application/json': replayResultListSchema } },
    },
    problems: ['replay_not_found', 'project_not_found', 'log_unavailable'],
    handle: async (call) => {
      const { replays, uid } = await openReplays(call);
      return { kind: 'json', body: { items: await replays.results(uid, call.query) } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${REPLAYS}/{replay}/results/{id}`,
    operationId: 'getReplayResult',
    tag: 'Replays',
    summary: 'Get the full response to one request',
    params: resultParams,
    answers: {
      200: {
        description: 'The response of the last attempt.',
        content: { 'application/json': replayedExchangeSchema },
      },
    },
    problems: ['replay_not_found', 'project_not_found', 'request_not_found', 'log_unavailable'],
    handle: async (call) => {
      const { replays, uid } = await openReplays(call);
      const answer = await replays.exchange(uid, call.params.id);
      if (answer !== undefined) return { kind: 'json', body: answer };
      throw new NotFound('request', 'result', 'This replay has no result for this request yet.');
    },
  }),
];
