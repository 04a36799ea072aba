import { SourceError, type Kind } from '@standin/contract';
import { nameOnly } from '@standin/kube';
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
   * Returns the namespaces that contain a project or an account, in ascending order of their numbers, or undefined if the dashboard
   * may not read them or has not read them yet.
   */
  namespaces(): ReadonlyMap<string, IndexedNamespace> | undefined;
}

export interface IndexedNamespace {
  /** Higher than all earlier numbers. A namespace gets a new number when something is added to it. */
  readonly number: number;
  /** The names of the projects. */
  readonly projects: ReadonlySet<string>;
}

interface Names {
  readonly projects: Set<string>;
  readonly accounts: Set<string>;
}

const INDEXED = ['Project', 'Account'] as const satisfies readonly Kind[];

export const followResourceIndex = (view: OwnView): ResourceIndex => {
  const indexed = new Map<string, IndexedNamespace & Names>();
  let lastNumber = 0;
  const isSynced = followObjects(view, {
    kinds: INDEXED,
    transform: nameOnly,
    put: (kind, { metadata: { name, namespace = '' } }) => {
      const { projects, accounts } = indexed.get(namespace) ?? { projects: new Set(), accounts: new Set() };
      const names = kind === 'Project' ? projects : accounts;
      if (names.has(name)) return;
      names.add(name);
      lastNumber += 1;
      // Inserts the namespace last, because the namespaces are in the order of their numbers.
      indexed.delete(namespace);
      indexed.set(namespace, { number: lastNumber, projects, accounts });
    },
    remove: (kind, { metadata: { name, namespace = '' } }) => {
      const known = indexed.get(namespace);
      if (known === undefined) return;
      (kind === 'Project' ? known.projects : known.accounts).delete(name);
      if (known.projects.size + known.accounts.size === 0) indexed.delete(namespace);
    },
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
    namespaces: () => (isSynced() ? indexed : undefined),
  };
};
