import { SourceError, type Kind, type ObjectRef } from '@standin/contract';
import { nameOnly, objectKey, type KubeObject } from '@standin/kube';
import { followObjects, type OwnView } from './follow-objects.ts';

/**
 * The names of projects and accounts, read with the dashboard's read-only ServiceAccount. Pages use this index to find what to read
 * with the user's token. Pages never show the contents of the index directly.
 */
export interface ResourceIndex {
  /**
   * Returns whether this installation serves the namespace. Throws a `SourceError` (`Unavailable`) if the dashboard may not read
   * the namespaces or has not read them yet.
   */
  serves(namespace: string): boolean;
  /**
   * Returns the namespaces that contain a project or an account, or undefined if the dashboard may not read them or has not read
   * them yet.
   */
  namespaces(): readonly string[] | undefined;
  /** Returns the names of the projects in a namespace. */
  projects(namespace: string): readonly string[];
}

const INDEXED = ['Project', 'Account'] as const satisfies readonly Kind[];

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
  const { namespaces, selected } = view;
  return {
    serves: (namespace) => {
      if (selected?.isSynced === false) {
        throw new SourceError(
          'Unavailable',
          'the dashboard has not loaded the namespaces yet: try again in a few seconds',
        );
      }
      return selected?.has(namespace) ?? (namespaces.length === 0 || namespaces.includes(namespace));
    },
    namespaces: () =>
      isSynced() ? [...new Set([...names.values()].map(({ namespace }) => namespace))].sort() : undefined,
    projects: (namespace) =>
      [...names.values()]
        .filter((ref) => ref.kind === 'Project' && ref.namespace === namespace)
        .map(({ name }) => name),
  };
};
