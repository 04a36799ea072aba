import { z } from 'zod';
import { PlainError } from '../plain-error.ts';
import { ServerError, type ApiClient } from './api-client.ts';

export interface ProjectName {
  readonly namespace: string;
  readonly name: string;
}

const listSchema = z.object({ items: z.array(z.object({ namespace: z.string(), name: z.string() })) });

/** The visible projects, in one namespace or in all. */
export const listProjects = async (client: ApiClient, namespace: string | undefined): Promise<readonly ProjectName[]> =>
  (await client.ask({ path: '/projects', query: { namespace } }, listSchema)).items;

const SHOWN_MAX = 10;

/**
 * `there are: shop, billing`, with namespaces if they differ or another one was requested.
 *
 * @param asked the requested namespace
 */
export const whatThereIs = (projects: readonly ProjectName[], asked: string | undefined): string => {
  if (projects.length === 0) return 'there is none';
  const namespaces = new Set([...(asked === undefined ? [] : [asked]), ...projects.map(({ namespace }) => namespace)]);
  const names = projects
    .map(({ namespace, name }) => (namespaces.size === 1 ? name : `${namespace}/${name}`))
    .toSorted();
  return `there ${names.length === 1 ? 'is' : 'are'}: ${names.slice(0, SHOWN_MAX).join(', ')}${names.length > SHOWN_MAX ? ', …' : ''}`;
};

/** The result of the work. If the server does not know the project, it rejects with the names of the existing ones. */
export const withProjectNames = async <T>(
  client: ApiClient,
  namespace: string | undefined,
  work: Promise<T>,
): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ServerError && error.code === 'project_not_found')) throw error;
    const projects = await listProjects(client, undefined).catch(() => undefined);
    if (projects === undefined) throw error;
    throw new PlainError(`${error.message.replace(/\.$/, '')}; ${whatThereIs(projects, namespace)}`, { cause: error });
  }
};
