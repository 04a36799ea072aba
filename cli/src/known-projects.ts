import path from 'node:path';
import { recordedProjects } from '@standin/operator/recorded-projects';
import { readRunFile } from './server/run-file.ts';
import { PlainError } from './plain-error.ts';
import { openLocal } from './server/api-client.ts';
import { listProjects, whatThereIs, type ProjectName } from './server/list-projects.ts';

/** The project that somebody named. */
export interface NamedProject {
  /** Undefined: any. */
  readonly namespace?: string | undefined;
  readonly project: string;
}

/** Projects of the `standin dev` that runs on a data folder, or did; `undefined` where nobody knows. */
const projectsOf = async (data: string): Promise<readonly ProjectName[] | undefined> => {
  const dataDir = path.resolve(data);
  const run = await readRunFile(dataDir);
  // What the folder says then is of a directory that it was used with before.
  if (run?.from === 'cluster')
    return run.dashboard === undefined
      ? undefined
      : listProjects(openLocal(run.dashboard, run.dashboardToken), undefined);
  return recordedProjects(dataDir);
};

/** Rejects with a `PlainError` where it is known that a `standin dev` has no project of this name. */
export const checkProject = async (
  data: string,
  wanted: NamedProject,
  hasRows: () => Promise<boolean>,
): Promise<void> => {
  // What cannot be asked or read is no reason to refuse.
  const known = await projectsOf(data).catch(() => undefined);
  const refusal = known && missingProject(known, wanted);
  // The log of a project outlives it.
  if (refusal !== undefined && !(await hasRows())) throw refusal;
};

/** Undefined where it is there. */
export const missingProject = (
  known: readonly ProjectName[],
  { namespace, project }: NamedProject,
): PlainError | undefined => {
  if (known.some((one) => one.name === project && (namespace === undefined || one.namespace === namespace)))
    return undefined;
  const where = namespace === undefined ? '' : ` in the namespace ${namespace}`;
  return new PlainError(`there is no project ${JSON.stringify(project)}${where}; ${whatThereIs(known, namespace)}`);
};
