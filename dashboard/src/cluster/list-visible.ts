import { RESOURCES, SourceError, type Kind, type ResourceObject } from '@standin/contract';
import type { AccessReviews } from './access-reviews.ts';
import type { ClusterUser } from './cluster-user.ts';
import { getObject, listIn } from './read-objects.ts';
import { mapSome, type ReadableNamespaces } from './readable-namespaces.ts';
import type { ResourceIndex } from './resource-index.ts';

export interface ListParts {
  readonly user: ClusterUser;
  readonly reviews: AccessReviews;
  readonly index: ResourceIndex;
  readonly readable: ReadableNamespaces;
}

/** What one call reads: an object, or all objects in a namespace. */
interface Place {
  readonly namespace: string;
  readonly name?: string;
}

/**
 * Returns the objects of a kind in all served namespaces that the user may see. Most users may not list all namespaces. For these users,
 * lists each namespace where they may. In the other namespaces, only Projects are returned: those that the user may get, which are read
 * one by one. All returned objects are read with the user's token.
 */
export const listVisible = async (
  { user, reviews, index, readable }: ListParts,
  kind: Kind,
): Promise<readonly ResourceObject[]> => {
  if (await reviews.may(user, { verb: 'list', resource: RESOURCES[kind].plural })) {
    const listed = await listIn(user, kind, undefined);
    return listed.filter(({ metadata: { namespace } }) => index.serves(namespace));
  }
  // Reads lists and named objects in one sequence, so that the total number of concurrent calls is limited.
  const places = [...(await readable.find(user, kind))].flatMap(([namespace, names]): Place[] =>
    names === 'all' ? [{ namespace }] : names.map((name) => ({ namespace, name })),
  );
  const found = await mapSome(places, async ({ namespace, name }) => {
    try {
      return name === undefined
        ? await listIn(user, kind, namespace)
        : ((await getObject(user, { kind, namespace, name })) ?? []);
    } catch (error) {
      // The permission was revoked after the namespace was asked about.
      if (error instanceof SourceError && error.kind === 'Forbidden') return [];
      throw error;
    }
  });
  return found.flat();
};
