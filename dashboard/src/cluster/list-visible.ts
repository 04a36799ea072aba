import { RESOURCES, SourceError, type Kind, type ObjectRef, type ResourceObject } from '@standin/contract';
import type { AccessReviews } from './access-reviews.ts';
import type { ClusterUser } from './cluster-user.ts';
import { getObject, listIn } from './read-objects.ts';
import type { ResourceIndex } from './resource-index.ts';

export interface ListParts {
  readonly user: ClusterUser;
  readonly reviews: AccessReviews;
  readonly index: ResourceIndex;
}

/** Maximum number of calls at the same time for one list. */
const CALLS_MAX = 8;
/**
 * Maximum number of namespaces to query, and of projects in one namespace. A user who may see more can be given permission to list
 * them all.
 */
const ASKED_MAX = 500;

/**
 * Returns the objects of a kind in all served namespaces that the user may see. Most users may not list all namespaces. For these users,
 * lists each namespace where an access review allows it. In the other namespaces, only Projects are returned: those that the user
 * may get, which are read one by one. All returned objects are read with the user's token.
 */
export const listVisible = async (parts: ListParts, kind: Kind): Promise<readonly ResourceObject[]> => {
  const { user, reviews, index } = parts;
  const resource = RESOURCES[kind].plural;
  if (await reviews.may(user, { verb: 'list', resource })) {
    const listed = await listIn(user, kind, undefined);
    return listed.filter(({ metadata: { namespace } }) => index.serves(namespace));
  }
  const namespaces = index.namespaces();
  if (namespaces === undefined) {
    throw new SourceError(
      'Unavailable',
      `you do not have permission to list ${resource} in all namespaces, and the dashboard has not loaded the namespaces yet: try again in a few seconds`,
    );
  }
  const found = await mapSome(namespaces.slice(0, ASKED_MAX), async (namespace) => {
    if (await reviews.may(user, { verb: 'list', resource, namespace }))
      return { listed: await listIn(user, kind, namespace), named: [] };
    const names = kind === 'Project' ? index.projects(namespace).slice(0, ASKED_MAX) : [];
    return { listed: [], named: names.map((name): ObjectRef => ({ kind, namespace, name })) };
  });
  // Gets the projects after all lists have been read, so that `CALLS_MAX` limits the total number of calls.
  const named = await getNamedProjects(
    parts,
    found.flatMap(({ named }) => named),
  );
  return [...found.flatMap(({ listed }) => listed), ...named];
};

/** Gets projects one by one, because a role with resource names allows users to get objects but not to list them. */
const getNamedProjects = async (
  { user, reviews }: ListParts,
  refs: readonly ObjectRef[],
): Promise<readonly ResourceObject[]> => {
  const found = await mapSome(refs, async (ref) => {
    const { namespace, name } = ref;
    const question = { verb: 'get', resource: RESOURCES.Project.plural, namespace, name } as const;
    return (await reviews.may(user, question)) ? getUnlessGone(user, ref) : undefined;
  });
  return found.filter((object) => object !== undefined);
};

/**
 * Returns the object. Returns undefined if the object was deleted after the index was read, or if access to it was revoked after
 * the access review.
 */
const getUnlessGone = async (user: ClusterUser, ref: ObjectRef): Promise<ResourceObject | undefined> => {
  try {
    return await getObject(user, ref);
  } catch (error) {
    if (error instanceof SourceError && error.kind === 'Forbidden') return undefined;
    throw error;
  }
};

/** Processes up to `CALLS_MAX` items at a time. Returns the results in the order of the items. */
const mapSome = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  const entries = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of entries) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: CALLS_MAX }, worker));
  return results;
};
