import { type Kind, RESOURCES } from '@standin/contract';
import { isNotFound, type KubeClient, resourcePath } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { request } from 'undici';
import type { Cluster } from '../harness/cluster.ts';
import type { DeployedGateway } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';

export interface SeenCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

export interface SeenObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
    readonly creationTimestamp: string;
  };
  readonly status?: { readonly conditions?: readonly SeenCondition[]; readonly [field: string]: unknown };
}

export interface PostResult {
  readonly status: number;
  readonly body: string;
}

const GROUP = { group: 'standin.dev', version: 'v1alpha1' };

/** A team's namespace. The methods do what the team's members would do, but with administrator permissions. */
export class Tenant {
  readonly namespace: string;
  readonly client: KubeClient;

  private constructor(namespace: string, client: KubeClient) {
    this.namespace = namespace;
    this.client = client;
  }

  static async create(cluster: Cluster, namespace: string): Promise<Tenant> {
    const client = loadKubeClient({
      kubeconfigPath: cluster.kubeconfigPath,
      writeRate: { qps: 10_000, burst: 10_000 },
    });
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }));
    return new Tenant(namespace, client);
  }

  /** Creates the object, or changes the given fields of its spec. */
  async apply(kind: Kind, name: string, spec: Readonly<Record<string, unknown>>): Promise<SeenObject> {
    try {
      return await this.client.mergePatch(this.#path(kind, name), { spec });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const object = { apiVersion: 'standin.dev/v1alpha1', kind, metadata: { name, namespace: this.namespace }, spec };
      return this.client.create(this.#path(kind), object);
    }
  }

  /** Creates or changes a mock at `/NAME`, for POST, in the project `shop`. */
  mock(name: string, body: string): Promise<SeenObject> {
    const rest = { projectRef: { name: 'shop' }, displayName: name, slug: `/${name}`, method: 'POST', action: 'JSON' };
    return this.apply('Endpoint', name, { ...rest, json: { body } });
  }

  async accountAndProject(): Promise<void> {
    await this.apply('Account', 'team', { plan: 'Free' });
    await this.apply('Project', 'shop', { displayName: 'Shop', accountRef: { name: 'team' } });
  }

  remove(kind: Kind, name: string): Promise<void> {
    return this.client.removeByName(this.#path(kind, name));
  }

  get(kind: Kind, name: string): Promise<SeenObject> {
    return this.client.get(this.#path(kind, name));
  }

  async list(kind: Kind): Promise<readonly SeenObject[]> {
    return (await this.client.get<{ items: SeenObject[] }>(this.#path(kind))).items;
  }

  async condition(kind: Kind, name: string, type = 'Ready'): Promise<SeenCondition> {
    const { metadata, status } = await this.get(kind, name);
    const found = status?.conditions?.find((condition) => condition.type === type);
    const isCurrent = found?.observedGeneration === metadata.generation;
    return found !== undefined && isCurrent ? found : { type, status: 'Unknown', reason: 'Outdated', message: '' };
  }

  /** Waits for this reason of `Ready`, at the object's current generation. Returns the condition. */
  untilReason(kind: Kind, name: string, reason: string, timeoutMs = 20_000): Promise<SeenCondition> {
    return eventually(`${kind} ${name} ${reason}`, () => this.condition(kind, name), {
      accept: (condition) => condition.reason === reason,
      intervalMs: 20,
      timeoutMs,
    });
  }

  async readSecret(name: string): Promise<string> {
    const { data } = await this.client.get<{ data: Record<string, string> }>(this.#secretPath(name));
    return Buffer.from(data['api-key'] ?? '', 'base64').toString();
  }

  /** Creates or changes the Secret of an API key. */
  async writeSecret(name: string, key: string): Promise<void> {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { 'api-key': key } };
    await this.client.request({
      method: 'PATCH',
      path: this.#secretPath(name),
      query: { fieldManager: 'test', force: true },
      body: secret,
      contentType: 'application/apply-patch+yaml',
    });
  }

  removeSecret(name: string): Promise<void> {
    return this.client.removeByName(this.#secretPath(name));
  }

  /** Returns `/PROJECT-URI`. */
  async projectPath(name = 'shop'): Promise<string> {
    const { status } = await eventually('the project’s URL', () => this.get('Project', name), {
      accept: (project) => typeof project.status?.['url'] === 'string',
    });
    return new URL(String(status?.['url'])).pathname;
  }

  #path(kind: Kind, name?: string): string {
    const collection = { ...GROUP, plural: RESOURCES[kind].plural, namespace: this.namespace };
    return resourcePath(name === undefined ? collection : { ...collection, name });
  }

  #secretPath(name: string): string {
    return resourcePath({ group: '', version: 'v1', plural: 'secrets', namespace: this.namespace, name });
  }
}

/** Sends a POST to a gateway as an API client. */
export const post = async (
  gateway: DeployedGateway,
  path: string,
  key: string,
  { body = '', headers = {} }: { readonly body?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<PostResult> => {
  const options = { method: 'POST', headers: { 'x-api-key': key, ...headers }, body } as const;
  const response = await request(`${gateway.url}${path}`, options);
  return { status: response.statusCode, body: await response.body.text() };
};

/** Returns the values of a metric's series by their labels as printed, such as `code="200",method="GET"`. */
export const readMetric = async (adminUrl: string, name: string): Promise<ReadonlyMap<string, number>> => {
  const text = await (await request(`${adminUrl}/metrics`)).body.text();
  const lines = text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'));
  return new Map([...lines].map(([, labels = '', value]) => [labels, Number(value)]));
};
