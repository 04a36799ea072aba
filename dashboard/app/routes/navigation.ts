import type { LoaderFunctionArgs } from '@remix-run/node';
import { SourceError, type ResourceObject } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import { listEndpoints } from '../../src/endpoints/endpoints.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { endpointSpec, projectSpec } from '../../src/resources/specs.ts';
import type { NavigationTargets } from '../shell/navigation-targets.ts';

/** The maximum number of projects, and of endpoints, in the palette and the project switcher. Users do not scroll through more. */
const TARGETS_MAX = 1_000;

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
  const targets: NavigationTargets = {
    projects: projects.slice(0, TARGETS_MAX).map((object) => ({
      namespace: object.metadata.namespace,
      project: object.metadata.name,
      title: projectSpec(object).displayName ?? object.metadata.name,
    })),
    endpoints: endpoints.slice(0, TARGETS_MAX).map((object) => {
      const { displayName = object.metadata.name, method = '', slug = '' } = endpointSpec(object);
      return { endpoint: object.metadata.name, title: displayName, route: `${method} ${slug}` };
    }),
  };
  return Response.json(targets);
};
