import { setTimeout as delay } from 'node:timers/promises';
import {
  GROUP_VERSION,
  SourceError,
  TEMPORARY_LABEL,
  type DesiredObject,
  type ResourceObject,
} from '@standin/contract';
import type { Problem } from '@standin/crds';
import type { Backend } from '../backend.ts';
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
  const undo = async (): Promise<void> => {
    for (const { kind, metadata } of created.reverse())
      await resources.delete({ kind, namespace, name: metadata.name }, metadata.uid).catch(ignoreMissing);
  };
  try {
    for (const [index, object] of desired.entries()) {
      const result = await resources.apply(object, 'absent');
      if (result.ok) {
        created.push(result.object);
        continue;
      }
      await undo();
      const place = index === 0 ? '' : `endpoints.${index - 1}.`;
      return {
        ok: false,
        problems: result.problems.map(({ path, message }) => ({ path: `${place}${path}`, message })),
      };
    }
  } catch (error) {
    await undo();
    throw error;
  }
  return { ok: true, ...(await awaitReady(resources, created, timeoutMs, signal)) };
};

const ignoreMissing = (error: unknown): void => {
  if (!(error instanceof SourceError && error.kind === 'NotFound')) throw error;
};

/** Reads the objects until all of them are ready, or one cannot become ready by itself. */
const awaitReady = async (
  resources: Backend['resources'],
  created: readonly ResourceObject[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Readied> => {
  const until = performance.now() + timeoutMs;
  for (let pauseMs = FIRST_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_MS)) {
    const found = await Promise.all(
      created.map(async ({ kind, metadata: { namespace, name } }) => resources.get({ kind, namespace, name })),
    );
    const waiting = created.flatMap((object, index) => {
      const { state, message } = readiness(found[index] ?? object);
      return state === 'ready' ? [] : [{ state, message: `${object.kind} ${object.metadata.name}: ${message}` }];
    });
    const project = found[0] ?? created[0];
    const first = waiting.find(({ state }) => state === 'broken') ?? waiting[0];
    if (project !== undefined && (first === undefined || first.state === 'broken' || performance.now() >= until))
      return { project, isReady: first === undefined, message: first?.message ?? '' };
    await delay(pauseMs, undefined, { signal });
  }
};
