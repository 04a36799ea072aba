import type { LoaderFunctionArgs } from '@remix-run/node';
import { SourceError, type ResourceObject } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import { listEndpoints } from '../../src/endpoints/endpoints.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { endpointSpec, projectSpec } from '../../src/resources/specs.ts';
import { endpointText, matchScore, projectText, type NavigationTargets } from '../shell/navigation-targets.ts';

/** The maximum number of projects, and of endpoints, in the palette and the project switcher. Users do not scroll through more. */
const TARGETS_MAX = 1_000;

/** A longer search is cut off, because it is compared with each target. */
const SEARCH_LENGTH_MAX = 200;

/** Returns the targets that the search finds, the best matches first. Without a search, returns the first ones. */
const search = <Target>(targets: readonly Target[], text: (target: Target) => string, q: string): readonly Target[] =>
  targets
    .map((target) => ({ target, score: matchScore(text(target), q) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, TARGETS_MAX)
    .map(({ target }) => target);

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
  const q = (searchParams.get('q') ?? '').slice(0, SEARCH_LENGTH_MAX);
  const projectTargets = projects.map((object) => ({
    namespace: object.metadata.namespace,
    project: object.metadata.name,
    title: projectSpec(object).displayName ?? object.metadata.name,
  }));
  const endpointTargets = endpoints.map((object) => {
    const { displayName = object.metadata.name, method = '', slug = '' } = endpointSpec(object);
    return { endpoint: object.metadata.name, title: displayName, route: `${method} ${slug}` };
  });
  const targets: NavigationTargets = {
    projects: search(projectTargets, projectText, q),
    endpoints: search(endpointTargets, endpointText, q),
    isPartial: Math.max(projects.length, endpoints.length) > TARGETS_MAX,
  };
  return Response.json(targets);
};
