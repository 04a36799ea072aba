import type { Kind, ObjectRef } from '@standin/contract';
import { collectionPath, objectKey, Reflector, type KubeClient, type KubeObject } from '@standin/kube';
import type { Logger } from 'pino';

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

/** Follows the cluster until `signal` aborts; survives whatever is away. */
export const followResourceIndex = (client: KubeClient, logger: Logger, signal: AbortSignal): ResourceIndex => {
  const names = Object.fromEntries(INDEXED.map((kind) => [kind, new Map<string, ObjectRef>()])) as Readonly<
    Record<(typeof INDEXED)[number], Map<string, ObjectRef>>
  >;
  let synced = 0;
  for (const kind of INDEXED) {
    const reflector = new Reflector<KubeObject>({
      client,
      path: collectionPath(kind),
      resource: kind,
      transform: nameOnly,
      handler: {
        put: (object) => {
          const { name, namespace = '' } = object.metadata;
          names[kind].set(objectKey(object), { kind, namespace, name });
        },
        remove: (object) => names[kind].delete(objectKey(object)),
      },
      logger,
    });
    reflector.synced.then(
      () => (synced += 1),
      () => undefined,
    );
    reflector.run(signal).catch((error: unknown) => logger.error({ err: error }, 'reflector ended'));
  }
  const all = (): readonly ObjectRef[] => INDEXED.flatMap((kind) => [...names[kind].values()]);
  return {
    namespaces: () =>
      synced < INDEXED.length ? undefined : [...new Set(all().map(({ namespace }) => namespace))].sort(),
    projects: (namespace) =>
      [...names.Project.values()].filter((ref) => ref.namespace === namespace).map(({ name }) => name),
  };
};
