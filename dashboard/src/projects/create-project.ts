import { setTimeout as delay } from 'node:timers/promises';
import {
  errorMessage,
  GROUP_VERSION,
  phraseListText,
  SourceError,
  TEMPORARY_LABEL,
  type DesiredObject,
  type ResourceObject,
} from '@standin/contract';
import type { Problem } from '@standin/crds';
import type { Backend } from '../backend.ts';
import { problemText } from '../resources/problem-text.ts';
import { readiness } from '../resources/resource-view.ts';

export interface NewProject {
  readonly namespace: string;
  readonly name: string;
  /** Whether the project exists only for a test (`TEMPORARY_LABEL`). */
  readonly isTemporary: boolean;
  readonly spec: object;
  readonly endpoints: readonly { readonly name: string; readonly spec: object }[];
  /** How long to wait for the gateways. */
  readonly timeoutMs: number;
}

export type CreatedProject =
  | ({ readonly ok: true } & Readied)
  /** Nothing was created. */
  | { readonly ok: false; readonly problems: readonly Problem[] };

interface Readied {
  readonly project: ResourceObject;
  readonly isReady: boolean;
  /** Why an object is not ready, or empty. */
  readonly message: string;
}

/** Intervals at which statuses are read. Each is longer than the last. */
const FIRST_MS = 10;
const LONGEST_MS = 500;

/**
 * Creates a project and its endpoints with the user's permissions, and resolves when all gateways serve them, or at the timeout. If one of
 * them is invalid, deletes those that it has created. Rejects with `SourceError`: `Conflict` if one of them exists.
 */
export const createProject = async (
  { resources }: Pick<Backend, 'resources'>,
  { namespace, name, isTemporary, spec, endpoints, timeoutMs }: NewProject,
  signal: AbortSignal,
): Promise<CreatedProject> => {
  const labels = isTemporary ? { [TEMPORARY_LABEL]: 'true' } : {};
  const desired: readonly DesiredObject[] = [
    { apiVersion: GROUP_VERSION, kind: 'Project', metadata: { namespace, name, labels }, spec },
    ...endpoints.map((endpoint): DesiredObject => ({
      apiVersion: GROUP_VERSION,
      kind: 'Endpoint',
      metadata: { namespace, name: endpoint.name, labels },
      spec: { ...endpoint.spec, projectRef: { name } },
    })),
  ];
  const created: ResourceObject[] = [];
  let refused: readonly Problem[] | undefined;
  try {
    for (const [index, object] of desired.entries()) {
      const result = await resources.apply(object, 'absent');
      if (result.ok) {
        created.push(result.object);
        continue;
      }
      const place = index === 0 ? '' : `endpoints.${index - 1}.`;
      refused = result.problems.map(({ path, message }) => ({ path: `${place}${path}`, message }));
      break;
    }
  } catch (error) {
    await undo(resources, created, errorMessage(error));
    throw error;
  }
  if (refused !== undefined) {
    await undo(resources, created, problemText(refused));
    return { ok: false, problems: refused };
  }
  return { ok: true, ...(await awaitReady(resources, created, timeoutMs, signal)) };
};

/** Deletes what was created. Rejects with the reason for it, and with what remains, if something cannot be deleted. */
const undo = async (
  resources: Backend['resources'],
  created: readonly ResourceObject[],
  reason: string,
): Promise<void> => {
  const left: { readonly object: string; readonly error: SourceError }[] = [];
  for (const { kind, metadata } of created.toReversed()) {
    const { namespace, name, uid } = metadata;
    await resources.delete({ kind, namespace, name }, uid).catch((error: unknown) => {
      if (!(error instanceof SourceError)) throw error;
      if (error.kind !== 'NotFound') left.push({ object: `${kind} ${name}`, error });
    });
  }
  const [first] = left;
  if (first === undefined) return;
  const objects = phraseListText(left.map(({ object }) => object));
  throw new SourceError(first.error.kind, `${reason}; ${objects} cannot be deleted again: ${first.error.message}`);
};

/** Reads each object until it is ready. Ends when all are, when one cannot become ready by itself, or at the timeout. */
const awaitReady = async (
  resources: Backend['resources'],
  created: readonly ResourceObject[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Readied> => {
  const until = performance.now() + timeoutMs;
  let [project] = created;
  let waiting = created;
  for (let pauseMs = FIRST_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_MS)) {
    const read = await Promise.all(waiting.map((object) => readAgain(resources, object)));
    project = read.find(({ object }) => object.kind === 'Project')?.object ?? project;
    const unready = read.filter(({ state }) => state !== 'ready');
    const first = unready.find(({ state }) => state === 'broken') ?? unready[0];
    if (project !== undefined && (first === undefined || first.state === 'broken' || performance.now() >= until)) {
      const message = first && `${first.object.kind} ${first.object.metadata.name}: ${first.message}`;
      return { project, isReady: first === undefined, message: message ?? '' };
    }
    waiting = unready.map(({ object }) => object);
    await delay(pauseMs, undefined, { signal });
  }
};

/** Resolves also if the object cannot be read, because it was created, and may be readable a moment later. */
const readAgain = async (resources: Backend['resources'], known: ResourceObject) => {
  const { kind, metadata } = known;
  const { namespace, name } = metadata;
  try {
    const object = (await resources.get({ kind, namespace, name })) ?? known;
    const { state, message } = readiness(object);
    return { object, state, message };
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return { object: known, state: 'waiting', message: error.message };
  }
};
