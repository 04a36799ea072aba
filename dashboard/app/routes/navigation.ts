import type { LoaderFunctionArgs } from '@remix-run/node';
import { SourceError, type ResourceObject } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import { listEndpoints } from '../../src/endpoints/endpoints.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { endpointSpec, projectSpec } from '../../src/resources/specs.ts';
import { endpointText, projectText, type NavigationTargets } from '../shell/navigation-targets.ts';

/** The maximum number of projects, and of endpoints, in the palette and the project switcher. Users do not scroll through more. */
const TARGETS_MAX = 1_000;

/** Returns the text as the palette compares it. */
const plain = (text: string): string => text.toLowerCase().replaceAll(/[\s-]/g, ' ');

/** Returns whether the text contains the characters of the search in this order, so that the palette can find it. */
const isFound = (text: string, search: string): boolean => {
  const rest = plain(text);
  let from = 0;
  for (const character of plain(search)) {
    const at = rest.indexOf(character, from);
    if (at === -1) return false;
    from = at + character.length;
  }
  return true;
};

/** Returns no endpoints if the user may not list them. The user can then still leave this project for another one. */
const listAllowed = async (backend: Backend, names: ProjectName): Promise<readonly ResourceObject[]> => {
  try {
    return await listEndpoints(backend, names);
  } catch (error) {
    if (error instanceof SourceError && error.kind === 'Forbidden') return [];
    throw error;
  }
};

export const loader = async ({ request, context: { backend } }: LoaderFunctionArgs) => {
  const { searchParams } = new URL(request.url);
  const [namespace, project] = [searchParams.get('namespace'), searchParams.get('project')];
  const projects = await backend.resources.list('Project');
  const endpoints = namespace === null || project === null ? [] : await listAllowed(backend, { namespace, project });
  const q = searchParams.get('q') ?? '';
  const targets: NavigationTargets = {
    projects: projects
      .map((object) => ({
        namespace: object.metadata.namespace,
        project: object.metadata.name,
        title: projectSpec(object).displayName ?? object.metadata.name,
      }))
      .filter((target) => isFound(projectText(target), q))
      .slice(0, TARGETS_MAX),
    endpoints: endpoints
      .map((object) => {
        const { displayName = object.metadata.name, method = '', slug = '' } = endpointSpec(object);
        return { endpoint: object.metadata.name, title: displayName, route: `${method} ${slug}` };
      })
      .filter((target) => isFound(endpointText(target), q))
      .slice(0, TARGETS_MAX),
    isPartial: Math.max(projects.length, endpoints.length) > TARGETS_MAX,
  };
  return Response.json(targets);
};
