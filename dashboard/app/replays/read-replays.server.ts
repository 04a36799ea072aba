import { randomBytes } from 'node:crypto';
import type { ResourceObject } from '@standin/contract';
import { DEFINITIONS, parseObject, type ReplaySpec } from '@standin/crds';
import type { Backend } from '../../src/backend.ts';
import { notFound, orFail } from '../lib/failures.server.ts';
import type { ProjectParams, ReplayParams } from '../lib/paths.ts';
import { conditionsOf } from '../lib/resource-view.ts';
import type { ReplayView } from './replay-view.ts';

const NAME_BYTES = 5;

/** A unique name. */
export const newReplayName = (): string => `replay-${randomBytes(NAME_BYTES).toString('hex')}`;

/** A spec that the schema refuses is returned as it is: every field may be missing. */
export const replaySpec = (object: ResourceObject): Partial<ReplaySpec> => {
  const parsed = parseObject(object);
  if (parsed.ok && parsed.value.kind === 'Replay') return parsed.value.spec;
  return typeof object.spec === 'object' && object.spec !== null ? object.spec : {};
};

const messageOf = (object: ResourceObject): string => {
  const conditions = conditionsOf(object);
  const refused = conditions.find(({ type, status }) => type === 'Accepted' && status === 'False');
  return (refused ?? conditions.find(({ type }) => type === 'Complete'))?.message ?? 'Waiting for the operator.';
};

export const toReplayView = (object: ResourceObject): ReplayView => {
  const { name, uid, generation, creationTimestamp } = object.metadata;
  const spec = replaySpec(object);
  const status = DEFINITIONS.Replay.status.safeParse(object.status).data ?? {};
  const { filter, requestId = '', edit, target } = spec;
  const { result } = status;
  return {
    ...{ replay: name, uid, generation, createdAt: creationTimestamp },
    what:
      filter === undefined
        ? { kind: 'one', requestId, isEdited: edit !== undefined }
        : { kind: 'many', search: filter.search ?? '', from: filter.from, to: filter.to },
    target: target?.kind ?? '',
    url: target?.url ?? '',
    ratePerSecond: spec.ratePerSecond ?? 0,
    isOrdered: spec.order === 'Original',
    state: spec.state ?? 'Running',
    phase: status.phase ?? 'Pending',
    planned: status.planned,
    sent: status.sent ?? 0,
    failed: status.failed ?? 0,
    byStatus: status.byStatus ?? [],
    startedAt: status.startedAt,
    completedAt: status.completedAt,
    result: result && { status: result.status ?? 0, durationMs: result.durationMs ?? 0 },
    message: messageOf(object),
  };
};

const isOf = (object: ResourceObject, project: string): boolean => replaySpec(object).projectRef?.name === project;

/** A replay of this project. */
export const findReplay = async (
  { resources }: Backend,
  { namespace, project, replay }: ReplayParams,
): Promise<ResourceObject | undefined> => {
  const object = await orFail(resources.get({ kind: 'Replay', namespace, name: replay }));
  return object !== undefined && isOf(object, project) ? object : undefined;
};

/** Like `findReplay`, but throws an error page if the replay does not exist. */
export const getReplay = async (backend: Backend, params: ReplayParams): Promise<ResourceObject> => {
  const object = await findReplay(backend, params);
  if (object === undefined) throw notFound(`replay ${params.replay}`, 'Replays are removed a day after their end.');
  return object;
};

/** Replays of one project, newest first. */
export const listReplays = async (
  { resources }: Backend,
  { namespace, project }: ProjectParams,
): Promise<readonly ReplayView[]> => {
  const all = await orFail(resources.list('Replay', namespace));
  return all
    .filter((object) => isOf(object, project))
    .map(toReplayView)
    .sort((a, b) => (a.createdAt === b.createdAt ? 0 : a.createdAt < b.createdAt ? 1 : -1));
};
