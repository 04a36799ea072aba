import type { Kind, ObjectRef } from '@standin/contract';
import { objectKey, type KubeObject } from '@standin/kube';
import { followObjects, type OwnView } from './follow-objects.ts';

/**
 * Where projects and accounts are, by the dashboard's own ServiceAccount, which may only read. Says where to look with the rights of
 * whoever asks; nothing of it is shown as it is.
 */
export interface ResourceIndex {
  /** Those with a project or an account in them; `undefined`: not known, the dashboard may not read them or has not yet. */
  namespaces(): readonly string[] | undefined;
  /** Names of the projects of a namespace. */
  projects(namespace: string): readonly string[];
}

const INDEXED = ['Project', 'Account'] as const satisfies readonly Kind[];

/** All that is kept of an object. */
const nameOnly = ({ metadata: { name, namespace, uid, resourceVersion } }: KubeObject): KubeObject => ({
  metadata: {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  },
});

/** Follows the cluster. */
export const followResourceIndex = (view: OwnView): ResourceIndex => {
  const names = new Map<string, ObjectRef>();
  const keyOf = (kind: Kind, object: KubeObject): string => `${kind} ${objectKey(object)}`;
  const isSynced = followObjects(view, {
    kinds: INDEXED,
    transform: nameOnly,
    put: (kind, object) => {
      const { name, namespace = '' } = object.metadata;
      names.set(keyOf(kind, object), { kind, namespace, name });
    },
    remove: (kind, object) => names.delete(keyOf(kind, object)),
  });
  return {
    namespaces: () =>
      isSynced() ? [...new Set([...names.values()].map(({ namespace }) => namespace))].sort() : undefined,
    projects: (namespace) =>
      [...names.values()]
        .filter((ref) => ref.kind === 'Project' && ref.namespace === namespace)
        .map(({ name }) => name),
  };
};
