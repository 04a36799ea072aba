import { createHash, randomBytes } from 'node:crypto';
import type { ReplayState, ResourceObject } from '@standin/contract';
import type { ReplaySpec } from '@standin/crds';
import type { ApplyResult, Backend, ExpectedVersion } from '../backend.ts';
import { toDesired } from '../resources/manifest-yaml.ts';
import type { ProjectName, ReplayName } from '../resources/names.ts';
import { newestFirst } from '../resources/newest-first.ts';
import { NotFound } from '../resources/not-found.ts';
import { parseSpec } from '../resources/specs.ts';

const NAME_BYTES = 5;

/** Returns a name with a random part for a new Replay. If `seed` is given, the same seed results in the same name. */
export const newReplayName = (seed?: string): string => {
  const bytes = seed === undefined ? randomBytes(NAME_BYTES) : createHash('sha256').update(seed).digest();
  return `replay-${bytes.toString('hex', 0, NAME_BYTES)}`;
};

/** Returns the spec of a Replay. An invalid spec is returned unchanged, so any field may be missing. */
export const replaySpec = (object: ResourceObject): Partial<ReplaySpec> => parseSpec(object);

const isInProject = (object: ResourceObject, project: string): boolean =>
  replaySpec(object).projectRef?.name === project;

/** Returns a replay in this project, or undefined if it does not exist. */
export const findReplay = async (
  { resources }: Backend,
  { namespace, project, replay }: ReplayName,
): Promise<ResourceObject | undefined> => {
  const object = await resources.get({ kind: 'Replay', namespace, name: replay });
  return object !== undefined && isInProject(object, project) ? object : undefined;
};

/** Like `findReplay`, but rejects with `NotFound` if the replay does not exist. */
export const getReplay = async (backend: Backend, names: ReplayName): Promise<ResourceObject> => {
  const object = await findReplay(backend, names);
  if (object === undefined) throw new NotFound('replay', `replay ${names.replay}`);
  return object;
};

/** Returns the replays in one project, newest first. */
export const listReplays = async (
  { resources }: Backend,
  { namespace, project }: ProjectName,
): Promise<readonly ResourceObject[]> =>
  newestFirst((await resources.list('Replay', namespace)).filter((object) => isInProject(object, project)));

/**
 * Pauses, resumes or cancels a replay by changing its `spec.state`. Rejects with `Conflict` if the version differs from `expected`.
 */
export const setReplayState = (
  { resources }: Backend,
  replay: ResourceObject,
  state: ReplayState,
  expected: ExpectedVersion,
): Promise<ApplyResult> => {
  const desired = toDesired(replay);
  return resources.apply({ ...desired, spec: { ...(desired.spec as object), state } }, expected);
};
