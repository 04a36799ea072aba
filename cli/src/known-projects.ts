import path from 'node:path';
import { recordedProjects } from '@standin/operator/recorded-projects';
import { readRunFile } from './server/run-file.ts';
import { PlainError } from './plain-error.ts';
import { openLocal } from './server/api-client.ts';
import { listProjects, whatThereIs, type ProjectName } from './server/list-projects.ts';

/** The project that the user named. */
export interface NamedProject {
  /** Undefined: any namespace. */
  readonly namespace?: string | undefined;
  readonly project: string;
}

/** Projects of the `standin dev` that uses or used a data folder; `undefined` if unknown. */
const projectsOf = async (data: string): Promise<readonly ProjectName[] | undefined> => {
  const dataDir = path.resolve(data);
  const run = await readRunFile(dataDir);
  // In that case, the folder describes the directory that it was used with before.
  if (run?.from === 'cluster')
    return run.dashboard === undefined
      ? undefined
      : listProjects(openLocal(run.dashboard, run.dashboardToken), undefined);
  return recordedProjects(dataDir);
};

/** Rejects with a `PlainError` if a `standin dev` is known to have no project of this name. */
export const checkProject = async (
  data: string,
  wanted: NamedProject,
  hasRows: () => Promise<boolean>,
): Promise<void> => {
  // A failed request or read is no reason to reject the name.
  const known = await projectsOf(data).catch(() => undefined);
  const refusal = known && missingProject(known, wanted);
  // A project's log outlives the project.
  if (refusal !== undefined && !(await hasRows())) throw refusal;
};

/** Undefined if the project exists. */
export const missingProject = (
  known: readonly ProjectName[],
  { namespace, project }: NamedProject,
): PlainError | undefined => {
  if (known.some((one) => one.name === project && (namespace === undefined || one.namespace === namespace)))
    return undefined;
  const where = namespace === undefined ? '' : ` in the namespace ${namespace}`;
  return new PlainError(`there is no project ${JSON.stringify(project)}${where}; ${whatThereIs(known, namespace)}`);
};
