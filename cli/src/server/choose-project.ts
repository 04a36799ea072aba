import { PlainError } from '../plain-error.ts';
import { apiPath, type ApiClient } from './api-client.ts';
import { listProjects, whatThereIs } from './list-projects.ts';

export interface ProjectChoice {
  readonly namespace?: string | undefined;
  readonly project?: string | undefined;
}

const SHOWN_MAX = 10;

/** The API path of the selected project: the one that was named, or the only visible one. */
export const chooseProject = async (client: ApiClient, { namespace, project }: ProjectChoice): Promise<string> => {
  if (namespace !== undefined && project !== undefined) return projectPath(namespace, project);
  const items = await listProjects(client, namespace);
  const fitting = items.filter(({ name }) => project === undefined || name === project);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return projectPath(only.namespace, only.name);
  if (only === undefined) {
    const which = [project, namespace && `in the namespace ${namespace}`].filter(Boolean).join(' ');
    const others = items.length === 0 ? '' : `; ${whatThereIs(items, namespace)}`;
    throw new PlainError(`${`${client.server} shows you no project ${which}`.trimEnd()}${others}`);
  }
  const names = fitting.map(({ namespace: of, name }) => `-n ${of} -p ${name}`);
  const more = names.length > SHOWN_MAX ? ', …' : '';
  throw new PlainError(`which project? ${names.slice(0, SHOWN_MAX).join(', ')}${more}`);
};

/** The API path of a project. */
export const projectPath = (namespace: string, project: string): string =>
  apiPath('namespaces', namespace, 'projects', project);
