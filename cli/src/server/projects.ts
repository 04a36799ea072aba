import { requestSchema } from '@standin/dashboard/api-schemas';
import type { LogEntry } from '@standin/exchange';
import { z } from 'zod';
import { PlainError } from '../plain-error.ts';
import { apiPath, ServerError, type ApiClient } from './api-client.ts';

export interface ProjectName {
  readonly namespace: string;
  readonly name: string;
}

export interface ProjectChoice {
  /** If undefined, any namespace matches. */
  readonly namespace?: string | undefined;
  readonly project?: string | undefined;
}

const listSchema = z.object({ items: z.array(z.object({ namespace: z.string(), name: z.string() })) });
const SHOWN_MAX = 10;

export const listProjects = async (api: ApiClient, namespace?: string): Promise<readonly ProjectName[]> =>
  (await api.ask({ path: '/projects', query: { namespace } }, listSchema)).items;

export const projectPath = (namespace: string, project: string): string =>
  apiPath('namespaces', namespace, 'projects', project);

/** Matches every name in the API that `standin dev` serves. */
const ANY_NAME = '-';
/** The API path of a log that `standin dev` serves. `ANY_NAME` covers all namespaces or projects, even removed ones. */
const localPath = ({ namespace = ANY_NAME, project = ANY_NAME }: ProjectChoice): string =>
  projectPath(namespace, project);

/**
 * Resolves with the API path of the selected requests. In a cluster, they belong to one project: the specified project or, if none
 * is specified, the only visible one.
 */
export const requestsPath = async (api: ApiClient, choice: ProjectChoice): Promise<string> =>
  `${api.local === undefined ? await chooseProject(api, choice) : localPath(choice)}/requests`;

/** Resolves with the API path of the selected project: the specified project or, if none is specified, the only visible one. */
export const chooseProject = async (api: ApiClient, { namespace, project }: ProjectChoice): Promise<string> => {
  if (namespace !== undefined && project !== undefined) return projectPath(namespace, project);
  const only = await findProject(api, { namespace, project });
  return projectPath(only.namespace, only.name);
};

/** Resolves with the only visible project that fits. Rejects with a `PlainError` if there is none, or more than one. */
export const findProject = async (api: ApiClient, { namespace, project }: ProjectChoice): Promise<ProjectName> => {
  const items = await listProjects(api, namespace);
  const fitting = items.filter(({ name }) => project === undefined || name === project);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only;
  if (only === undefined) {
    const which = project === undefined ? 'any project' : `project ${project}`;
    const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
    const others = items.length === 0 ? '' : `; ${whatThereIs(items, namespace)}`;
    throw new PlainError(`you cannot see ${which}${where} on ${api.server}${others}`);
  }
  // If only the namespace is missing, the command may not have the option -p.
  const names = fitting.map(({ namespace: of, name }) => (project === undefined ? `-n ${of} -p ${name}` : `-n ${of}`));
  const more = names.length > SHOWN_MAX ? ', …' : '';
  const what = project === undefined ? 'a project' : `the namespace of project ${project}`;
  throw new PlainError(`specify ${what}: ${names.slice(0, SHOWN_MAX).join(', ')}${more}`);
};

/**
 * Finds a captured request in the projects that fit, by default in all. Resolves with undefined if none has it. Rejects with a
 * `PlainError` if the request was not found but some logs cannot be read by the user.
 */
export const findRequest = async (
  api: ApiClient,
  id: string,
  { namespace: inNamespace, project }: ProjectChoice = {},
): Promise<LogEntry | undefined> => {
  const projects =
    api.local === undefined
      ? (await listProjects(api, inNamespace)).filter(({ name }) => project === undefined || name === project)
      : [{ namespace: inNamespace ?? ANY_NAME, name: project ?? ANY_NAME }];
  const unreadable: string[] = [];
  for (const { namespace, name } of projects) {
    const path = `${projectPath(namespace, name)}${apiPath('requests', id)}`;
    try {
      return await api.ask({ path }, requestSchema);
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      if (error.code === 'forbidden') unreadable.push(`${namespace}/${name}`);
      else if (error.status !== 404) throw error;
    }
  }
  if (unreadable.length === 0) return undefined;
  const names = `${unreadable.slice(0, SHOWN_MAX).join(', ')}${unreadable.length > SHOWN_MAX ? ', …' : ''}`;
  throw new PlainError(
    `there is no request ${id} in the logs that you can read; you do not have permission to read the log of ${names}`,
  );
};

/**
 * Returns text such as `available projects: shop, billing`, with namespaces if they differ or another one was requested.
 *
 * @param asked the requested namespace
 */
const whatThereIs = (known: readonly ProjectName[], asked: string | undefined, noun = 'project'): string => {
  if (known.length === 0) return `no ${noun}s are available`;
  const namespaces = new Set([...(asked === undefined ? [] : [asked]), ...known.map(({ namespace }) => namespace)]);
  const names = known.map(({ namespace, name }) => (namespaces.size === 1 ? name : `${namespace}/${name}`)).toSorted();
  return `available ${noun}s: ${names.slice(0, SHOWN_MAX).join(', ')}${names.length > SHOWN_MAX ? ', …' : ''}`;
};

/** Returns the error for a missing project, or undefined if the project exists. */
export const missingProject = (
  known: readonly ProjectName[],
  { namespace, project }: ProjectChoice,
): PlainError | undefined => missingObject('project', known, { namespace, name: project });

/** Returns the error for a missing object, or undefined if the object exists. `noun` is its kind in lowercase. */
export const missingObject = (
  noun: string,
  known: readonly ProjectName[],
  { namespace, name }: { readonly namespace?: string | undefined; readonly name: string | undefined },
): PlainError | undefined => {
  if (known.some((one) => one.name === name && (namespace === undefined || one.namespace === namespace)))
    return undefined;
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  return new PlainError(`there is no ${noun} ${JSON.stringify(name)}${where}; ${whatThereIs(known, namespace, noun)}`);
};

/** Resolves with the result of the work. If the server does not know the project, rejects with the names of the existing ones. */
export const withProjectNames = async <T>(api: ApiClient, choice: ProjectChoice, work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ServerError && error.code === 'project_not_found')) throw error;
    const projects = await listProjects(api).catch(() => undefined);
    if (projects === undefined) throw error;
    throw (
      (api.local && missingProject(projects, choice)) ??
      new PlainError(`${error.message.replace(/\.$/, '')}; ${whatThereIs(projects, choice.namespace)}`, {
        cause: error,
      })
    );
  }
};
