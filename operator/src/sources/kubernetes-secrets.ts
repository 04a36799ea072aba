import {
  API_GROUP,
  OPERATOR_FIELD_MANAGER,
  SourceError,
  type LabelledSecret,
  type ResourceObject,
  type Secrets,
} from '@standin/contract';
import { isNotFound, objectVersion, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';
import { asSecretError } from '../secret-rights.ts';
import { labelledSecret } from './labelled-secret.ts';
import { foreignSecret } from './secret-files.ts';

type Secret = KubeObject & {
  readonly data?: Readonly<Record<string, string>>;
};

/** The label of the Secrets that the operator creates, and may replace. */
const MANAGED_BY = 'app.kubernetes.io/managed-by';
const isGenerated = ({ metadata: { labels } }: Secret): boolean => labels?.[MANAGED_BY] === OPERATOR_FIELD_MANAGER;

/** Records why the Secret has its current data. See `Secrets.replace`. */
const MARK_ANNOTATION = `${API_GROUP}/written-by`;

const QUERY = { fieldManager: OPERATOR_FIELD_MANAGER };

const secretPath = (namespace: string, name?: string): string => {
  const secrets = { group: '', version: 'v1', plural: 'secrets', namespace };
  return resourcePath(name === undefined ? secrets : { ...secrets, name });
};

/** Returns a new Secret without an owner, so that it outlives the object that it belongs to. */
const newSecret = (namespace: string, name: string, data: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'Opaque',
  metadata: { name, namespace, labels: { [MANAGED_BY]: OPERATOR_FIELD_MANAGER } },
  stringData: data,
});

/** Omits the server's message when the server rejects a Secret, because the message may quote the Secret. */
const withoutQuote = (error: unknown, name: string): unknown =>
  error instanceof SourceError && error.kind === 'Invalid' && error.cause !== undefined
    ? new SourceError('Invalid', `the API server rejected Secret "${name}"`)
    : error;

/** The Secrets in a Kubernetes cluster. */
export class KubernetesSecrets implements Secrets {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  async read(namespace: string, name: string, dataKey: string): Promise<Uint8Array | undefined> {
    const secret = await asSecretError(namespace, this.#get(namespace, name));
    const value = new Map(Object.entries(secret?.data ?? {})).get(dataKey);
    return value === undefined ? undefined : Buffer.from(value, 'base64');
  }

  async readLabelled(namespace: string, name: string): Promise<LabelledSecret | undefined> {
    const secret = await asSecretError(namespace, this.#get(namespace, name));
    if (secret === undefined) return undefined;
    const { labels, annotations, resourceVersion = '' } = secret.metadata;
    const data = Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64')] as const);
    return labelledSecret({ labels, annotations, data: new Map(data) }, resourceVersion);
  }

  async create(owner: ResourceObject, name: string, data: Readonly<Record<string, string>>): Promise<void> {
    const { namespace } = owner.metadata;
    await this.#write(namespace, name, async () => {
      await this.#client.create(secretPath(namespace), newSecret(namespace, name, data), { query: QUERY });
    });
  }

  async replace(
    owner: ResourceObject,
    name: string,
    data: Readonly<Record<string, string>>,
    mark: string,
  ): Promise<void> {
    const { namespace } = owner.metadata;
    const annotations = { [MARK_ANNOTATION]: mark };
    await this.#write(namespace, name, async () => {
      const before = await this.#get(namespace, name);
      if (before === undefined) {
        const secret = newSecret(namespace, name, data);
        const marked = { ...secret, metadata: { ...secret.metadata, annotations } };
        await this.#client.create(secretPath(namespace), marked, { query: QUERY });
        return;
      }
      const { metadata } = before;
      if (metadata.annotations?.[MARK_ANNOTATION] === mark) return;
      if (!isGenerated(before)) throw foreignSecret(namespace, name);
      const replaced = {
        ...before,
        metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
        data: undefined,
        stringData: data,
      };
      await this.#client.replace(secretPath(namespace, name), replaced, objectVersion(before), { query: QUERY });
    });
  }

  #get(namespace: string, name: string): Promise<Secret | undefined> {
    return this.#client.get<Secret>(secretPath(namespace, name)).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      return undefined;
    });
  }

  async #write(namespace: string, name: string, write: () => Promise<void>): Promise<void> {
    await asSecretError(namespace, write()).catch((error: unknown) => {
      throw withoutQuote(error, name);
    });
  }
}
