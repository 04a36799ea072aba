import {
  API_GROUP,
  KINDS,
  LIMITS,
  OPERATOR_FIELD_MANAGER,
  RESOURCES,
  SourceError,
  type DesiredObject,
  type ObjectRef,
  type ObjectVersion,
  type ResourceObject,
  type ResourceSource,
  type SigningSecret,
  type SourceEvent,
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
  replacementOf,
  resourcePath,
  toResourceObject,
  toSourceError,
  type CustomResource,
  type KubeClient,
  type KubeObject,
  type SelectedNamespaces,
} from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { logRefusals } from '../log-refusals.ts';
import { asSecretError } from '../secret-rights.ts';
import { KubernetesEvents } from './kubernetes-events.ts';
import { NamespaceLimit, withoutContent, type KubeResource } from './namespace-limit.ts';
import { foreignSecret } from './secret-files.ts';
import { signingSecret } from './signing-secret.ts';

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

const secretPath = (namespace: string, name?: string): string => {
  const secrets = { group: '', version: 'v1', plural: 'secrets', namespace };
  return resourcePath(name === undefined ? secrets : { ...secrets, name });
};

type Secret = KubeObject & {
  readonly data?: Readonly<Record<string, string>>;
};

/** The label of the Secrets that the operator creates, and may replace. */
const MANAGED_BY = 'app.kubernetes.io/managed-by';
const isGenerated = ({ metadata: { labels } }: Secret): boolean => labels?.[MANAGED_BY] === OPERATOR_FIELD_MANAGER;

/** Records why the Secret has its current data. See `ResourceSource.replaceSecret`. */
const MARK_ANNOTATION = `${API_GROUP}/written-by`;

/** Returns a new Secret without an owner, so that it outlives the object that it belongs to. */
const newSecret = (namespace: string, name: string, data: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'Opaque',
  metadata: { name, namespace, labels: { [MANAGED_BY]: OPERATOR_FIELD_MANAGER } },
  stringData: data,
});

const undefinedIfNotFound = (error: unknown): undefined => {
  if (!isNotFound(error)) throw error;
};

/** Omits the server's message when the server rejects a Secret, because the message may quote the Secret. */
const withoutQuote = (error: unknown, name: string): unknown =>
  error instanceof SourceError && error.kind === 'Invalid' && error.cause !== undefined
    ? new SourceError('Invalid', `the API server rejected Secret "${name}"`)
    : error;

/** The custom resources in a Kubernetes cluster. */
class KubernetesSource implements ResourceSource {
  readonly #options: KubernetesSourceOptions;
  readonly #client: KubeClient;
  readonly #events: KubernetesEvents;

  constructor(options: KubernetesSourceOptions) {
    this.#options = options;
    this.#client = options.client;
    this.#events = new KubernetesEvents(options.client, options.logger);
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
    await selected?.synced;
    for (const reflector of reflectors) {
      reflector.run(signal).catch((error: unknown) => logger.error({ err: error }, 'reflector ended'));
    }
    await Promise.all(reflectors.map((reflector) => reflector.synced));
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

  async readSecret(namespace: string, name: string, dataKey: string): Promise<Uint8Array | undefined> {
    const read = this.#client.get<Secret>(secretPath(namespace, name)).catch(undefinedIfNotFound);
    const value = new Map(Object.entries((await asSecretError(namespace, read))?.data ?? {})).get(dataKey);
    return value === undefined ? undefined : Buffer.from(value, 'base64');
  }

  async readSigningSecret(namespace: string, name: string): Promise<SigningSecret | undefined> {
    const secret = await asSecretError(
      namespace,
      this.#client.get<Secret>(secretPath(namespace, name)).catch(undefinedIfNotFound),
    );
    if (secret === undefined) return undefined;
    const { labels, resourceVersion = '' } = secret.metadata;
    const data = Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64')] as const);
    return signingSecret({ labels, data: new Map(data) }, resourceVersion);
  }

  async createSecret(owner: ResourceObject, name: string, data: Readonly<Record<string, string>>): Promise<void> {
    const { namespace } = owner.metadata;
    const created = this.#client.create(secretPath(namespace), newSecret(namespace, name, data), {
      query: { fieldManager: OPERATOR_FIELD_MANAGER },
    });
    await asSecretError(namespace, created).catch((error: unknown) => {
      throw withoutQuote(error, name);
    });
  }

  async replaceSecret(
    owner: ResourceObject,
    name: string,
    data: Readonly<Record<string, string>>,
    mark: string,
  ): Promise<void> {
    const { namespace } = owner.metadata;
    const path = secretPath(namespace, name);
    const query = { fieldManager: OPERATOR_FIELD_MANAGER };
    const annotations = { [MARK_ANNOTATION]: mark };
    const write = async (): Promise<void> => {
      const before = await this.#client.get<Secret>(path).catch(undefinedIfNotFound);
      if (before === undefined) {
        const secret = newSecret(namespace, name, data);
        await this.#client.create(
          secretPath(namespace),
          { ...secret, metadata: { ...secret.metadata, annotations } },
          { query },
        );
        return;
      }
      const { metadata } = before;
      if (metadata.annotations?.[MARK_ANNOTATION] === mark) return;
      if (!isGenerated(before)) throw foreignSecret(namespace, name);
      const replaced = {
        ...before,
        metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
      };
      const body = { ...replaced, data: undefined, stringData: data };
      await this.#client.replace(path, body, objectVersion(before), { query });
    };
    await asSecretError(namespace, write()).catch((error: unknown) => {
      throw withoutQuote(error, name);
    });
  }

  recordEvent(object: ResourceObject, event: SourceEvent): Promise<void> {
    return this.#events.record(object, event);
  }

  #read(ref: ObjectRef): Promise<CustomResource | undefined> {
    return this.#client.get<CustomResource>(objectPath(ref)).catch(undefinedIfNotFound);
  }

  /** Reads an object with the permission to list. */
  async #list({ kind, metadata: { namespace, name } }: ResourceObject): Promise<ResourceObject | undefined> {
    const query = { fieldSelector: `metadata.name=${name}` };
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
    const replaced = replacementOf(current, object);
    return replaced === undefined
      ? current
      : this.#client.replace(objectPath(ref), replaced, objectVersion(current), { query });
  }
}

/** Creates a source for a cluster. charts/standin/templates/operator/rbac.yaml grants the permissions that the source needs. */
export const kubernetesSource = (options: KubernetesSourceOptions): ResourceSource => new KubernetesSource(options);
