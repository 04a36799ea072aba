import type { Kind } from '@standin/contract';
import {
  collectionPath,
  Reflector,
  type KubeClient,
  type KubeObject,
  type ReflectorOptions,
  type SelectedNamespaces,
} from '@standin/kube';
import type { Logger } from 'pino';

/** The dashboard's own access to the cluster, with a read-only ServiceAccount. */
export interface OwnView {
  readonly client: KubeClient;
  /** If empty, watches all namespaces, which requires a ClusterRole. Otherwise opens one watch per kind and namespace. */
  readonly namespaces: readonly string[];
  /** If set, only the objects in these namespaces are followed. */
  readonly selected?: SelectedNamespaces | undefined;
  readonly logger: Logger;
  /** Stops the watches when it aborts. Until then, they survive all outages. */
  readonly signal: AbortSignal;
}

export interface Followed<T extends KubeObject> {
  readonly kinds: readonly Kind[];
  readonly transform?: ReflectorOptions<T>['transform'];
  readonly put: (kind: Kind, object: T) => void;
  readonly remove: (kind: Kind, object: KubeObject) => void;
}

/** Follows the objects of several kinds. The returned function reports whether all of them have been listed. */
export const followObjects = <T extends KubeObject>(
  { client, namespaces, selected, logger, signal }: OwnView,
  { kinds, transform, put, remove }: Followed<T>,
): (() => boolean) => {
  const scopes = namespaces.length === 0 ? [undefined] : [...new Set(namespaces)];
  const all = kinds.flatMap((kind) => scopes.map((namespace) => ({ kind, namespace })));
  let synced = 0;
  for (const { kind, namespace } of all) {
    const handler = { put: (object: T) => put(kind, object), remove: (object: T) => remove(kind, object) };
    const reflector = new Reflector<T>({
      client,
      path: collectionPath(kind, namespace),
      resource: kind,
      ...(transform !== undefined && { transform }),
      handler: selected?.filter(handler) ?? handler,
      logger,
    });
    reflector.synced.then(
      () => (synced += 1),
      () => undefined,
    );
    // Without the selection, the first lists would be incomplete.
    (selected?.synced ?? Promise.resolve()).then(
      () => reflector.run(signal).catch((error: unknown) => logger.error({ err: error }, 'reflector ended')),
      () => undefined,
    );
  }
  return () => synced === all.length;
};
