import {
  API_GROUP,
  KINDS,
  LIMITS,
  OPERATOR_FIELD_MANAGER,
  RESOURCES,
  UPSTREAM_CA_LABEL,
  type ConfigMapObject,
  type DesiredObject,
  type ObjectRef,
  type Objects,
  type ObjectVersion,
  type ResourceObject,
  type ResourceSource,
  type SourceListener,
} from '@standin/contract';
import {
  ApiError,
  Reflector,
  asSourceError,
  collectionPath,
  isNotFound,
  listAll,
  objectPath,
  objectVersion,
  objectReplacement,
  resourcePath,
  toResourceObject,
  toSourceError,
  type CustomResource,
  type KubeClient,
  type KubeObject,
  type ReflectorHandler,
  type SelectedNamespaces,
} from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { logRefusals, missingRight } from '../log-refusals.ts';
import { KubernetesEvents } from './kubernetes-events.ts';
import { KubernetesSecrets } from './kubernetes-secrets.ts';
import { caConfigMap } from './ca-config-map.ts';
import { NamespaceLimit, withoutContent, type KubeResource, type LimitedObject } from './namespace-limit.ts';

interface KubernetesSourceOptions {
  readonly client: KubeClient;
  /**
   * If empty, all namespaces are watched, which requires a ClusterRole. If not empty, there is one watch per kind and namespace.
   */
  readonly namespaces: readonly string[];
  /** If set, only the objects in these namespaces are reported. */
  readonly selected?: SelectedNamespaces | undefined;
  /** See `LIMITS.namespaceBytesMax`, which is the default. */
  readonly namespaceBytesMax?: number;
  readonly logger: Logger;
  readonly registry?: Registry;
}

/** Field manager for `apply`, which makes changes that users request through Standin. */
const APPLY_FIELD_MANAGER = 'standin';
const APPLY_ATTEMPTS_MAX = 5;

const undefinedIfNotFound = (error: unknown): undefined => {
  if (!isNotFound(error)) throw error;
};

const CA_CONFIG_MAPS = { labelSelector: `${UPSTREAM_CA_LABEL}=true` };

const configMapsPath = (namespace: string | undefined): string =>
  resourcePath({ group: '', version: 'v1', plural: 'configmaps', namespace });

/** The parts of a ConfigMap that are used. */
interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>> | null;
  readonly binaryData?: Readonly<Record<string, string>> | null;
}

/** Returns a ConfigMap with only its certificates, as the `spec`. */
const limitedConfigMap = (object: KubeObject): LimitedObject => {
  const { metadata, data, binaryData } = object as ConfigMap;
  const { name, namespace = '', uid = '', resourceVersion = '', creationTimestamp = '' } = metadata;
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp, generation: 0 },
    spec: caConfigMap({ namespace, name, data: data ?? {}, binaryData: binaryData ?? {} }).data,
  };
};

/** The custom resources in a Kubernetes cluster. */
class KubernetesObjects implements Objects {
  readonly #options: KubernetesSourceOptions;
  readonly #client: KubeClient;

  constructor(options: KubernetesSourceOptions) {
    this.#options = options;
    this.#client = options.client;
  }

  /**
   * Starts the watches. Resolves when all of them have listed their objects. Logs a missing permission or CRD and retries, because
   * it may be added later. Rejects only when `signal` aborts.
   */
  async start(listener: SourceListener, signal: AbortSignal): Promise<void> {
    const {
      namespaces,
      selected,
      namespaceBytesMax: bytesMax = LIMITS.namespaceBytesMax,
      logger,
      registry,
    } = this.#options;
    const scopes = namespaces.length === 0 ? [undefined] : [...new Set(namespaces)];
    const namespaceLimit = new NamespaceLimit({ bytesMax, read: (object) => this.#list(object), logger, signal });
    const reflectors = KINDS.flatMap((kind) =>
      scopes.map((namespace) => {
        const { plural } = RESOURCES[kind];
        return new Reflector<KubeResource>({
          client: this.#client,
          path: collectionPath(kind, namespace),
          resource: plural,
          namespace,
          handler: namespaceLimit.limit(selected?.filter<KubeResource>(listener) ?? listener),
          transform: (object) => toResourceObject(kind, object),
          // `NamespaceLimit` keeps the content.
          kept: withoutContent,
          onRefused: logRefusals(logger, `${plural}.${API_GROUP}`, namespace),
          logger,
          registry,
        });
      }),
    );
    const configMaps = scopes.map((namespace) => this.#configMaps(namespace, listener, namespaceLimit));
    await selected?.synced;
    for (const reflector of [...reflectors, ...configMaps.map((watched) => watched.reflector)]) {
      reflector.run(signal).catch((error: unknown) => logger.error({ err: error }, 'reflector ended'));
    }
    await Promise.all([...reflectors.map((reflector) => reflector.synced), ...configMaps.map(({ known }) => known)]);
  }

  /** Watches the ConfigMaps with certificates. `known` resolves when they are listed, or when the listener knows why they are not. */
  #configMaps(namespace: string | undefined, { configMaps }: SourceListener, namespaceLimit: NamespaceLimit) {
    const { selected, logger, registry } = this.#options;
    const handler: ReflectorHandler<LimitedObject> = {
      put: ({ metadata: { namespace: where, name }, spec }) =>
        configMaps.put({ namespace: where, name, data: spec as ConfigMapObject['data'] }),
      remove: ({ metadata: { namespace: where, name } }) => configMaps.remove({ namespace: where, name }),
    };
    const refused = Promise.withResolvers<undefined>();
    const logRefusal = logRefusals(logger, 'configmaps', namespace);
    const reflector = new Reflector<LimitedObject>({
      client: this.#client,
      path: configMapsPath(namespace),
      resource: 'configmaps',
      namespace,
      query: CA_CONFIG_MAPS,
      handler: namespaceLimit.limit(selected?.filter(handler) ?? handler),
      transform: limitedConfigMap,
      kept: withoutContent,
      onRefused: (error) => {
        logRefusal(error);
        configMaps.readable(namespace, missingRight('ConfigMaps', namespace));
        refused.resolve(undefined);
      },
      onWatching: () => configMaps.readable(namespace, undefined),
      logger,
      registry,
    });
    const synced = reflector.synced.then(() => configMaps.readable(namespace, undefined));
    return { reflector, known: Promise.race([synced, refused.promise]) };
  }

  async get(ref: ObjectRef): Promise<ResourceObject | undefined> {
    const object = await asSourceError(this.#read(ref));
    return object === undefined ? undefined : toResourceObject(ref.kind, object);
  }

  async apply(object: DesiredObject): Promise<ResourceObject> {
    for (let attempt = 1; ; attempt++) {
      try {
        return toResourceObject(object.kind, await this.#writeOnce(object));
      } catch (error) {
        // The object was created, changed (for example, its status) or deleted between the read and the write.
        const lostRace = error instanceof ApiError && (error.status === 409 || error.status === 404);
        if (!lostRace || attempt === APPLY_ATTEMPTS_MAX) throw toSourceError(error);
      }
    }
  }

  async delete(ref: ObjectRef, version?: ObjectVersion): Promise<void> {
    const path = objectPath(ref);
    await asSourceError(
      version === undefined ? this.#client.removeByName(path) : this.#client.remove(path, { preconditions: version }),
    );
  }

  async writeStatus(
    ref: ObjectRef,
    status: Readonly<Record<string, unknown>>,
    resourceVersion?: string,
  ): Promise<ResourceObject> {
    const patch = resourceVersion === undefined ? { status } : { metadata: { resourceVersion }, status };
    const written = await asSourceError(
      this.#client.mergePatch<CustomResource>(objectPath(ref, 'status'), patch, {
        query: { fieldManager: OPERATOR_FIELD_MANAGER },
      }),
    );
    return toResourceObject(ref.kind, written);
  }

  #read(ref: ObjectRef): Promise<CustomResource | undefined> {
    return this.#client.get<CustomResource>(objectPath(ref)).catch(undefinedIfNotFound);
  }

  /** Reads an object with the permission to list. */
  async #list({ kind, metadata: { namespace, name } }: LimitedObject): Promise<LimitedObject | undefined> {
    const query = { fieldSelector: `metadata.name=${name}` };
    if (kind === 'ConfigMap') {
      const path = configMapsPath(namespace);
      const { items } = await listAll<LimitedObject>(this.#client, path, { query: { ...query, ...CA_CONFIG_MAPS } });
      return items[0] && limitedConfigMap(items[0]);
    }
    const { items } = await listAll<CustomResource>(this.#client, collectionPath(kind, namespace), { query });
    return items[0] && toResourceObject(kind, items[0]);
  }

  async #writeOnce(object: DesiredObject): Promise<CustomResource> {
    const { apiVersion, kind, metadata, spec } = object;
    const { name, namespace, labels = {}, annotations = {} } = metadata;
    const query = { fieldManager: APPLY_FIELD_MANAGER, fieldValidation: 'Strict' };
    const ref = { kind, namespace, name };
    const current = await this.#read(ref);
    if (current === undefined) {
      const created = { apiVersion, kind, metadata: { name, namespace, labels, annotations }, spec };
      return this.#client.create(collectionPath(kind, namespace), created, { query });
    }
    const replaced = objectReplacement(current, object);
    return replaced === undefined
      ? current
      : this.#client.replace(objectPath(ref), replaced, objectVersion(current), { query });
  }
}

/** Creates a source for a cluster. charts/standin/templates/operator/rbac.yaml grants the permissions that the source needs. */
export const kubernetesSource = (options: KubernetesSourceOptions): ResourceSource => ({
  objects: new KubernetesObjects(options),
  secrets: new KubernetesSecrets(options.client),
  events: new KubernetesEvents(options.client, options.logger),
});
