/// <reference lib="esnext.disposable" preserve="true" />
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { apiPath, StandinError, type Api } from './api.ts';
import type { components, operations } from './api.generated.ts';

type Schemas = components['schemas'];
type Body<O extends keyof operations> = operations[O] extends {
  requestBody: { content: { 'application/json': infer B } };
}
  ? B
  : never;

export type CapturedRequest = Schemas['CapturedRequest'];
export type AssertionResult = Schemas['Assertion'];
/** A search alone stands for at least one request. */
export type Expectation = string | NonNullable<Body<'assertRequests'>['expectations']>[number];
export type AssertOptions = Omit<Body<'assertRequests'>, 'expectations'>;

type EndpointBody = NonNullable<Body<'createProject'>['endpoints']>[number];

/** An Endpoint as in a manifest. `spec.projectRef` is replaced. */
export interface EndpointManifest {
  readonly metadata: { readonly name: string };
  readonly spec: EndpointBody['spec'] & { readonly projectRef?: { readonly name: string } };
}

export interface NewProject {
  readonly endpoints: readonly EndpointManifest[];
  /** Default: `default`. */
  readonly namespace?: string;
  /** The account whose API key callers send. Default: `default`. */
  readonly account?: string;
  /** The beginning of the generated name. Default: `test`. */
  readonly prefix?: string;
}

/** Requests that a search selects. Times are RFC 3339, or ages such as `10m`. */
export interface Window {
  readonly from?: string;
  readonly to?: string;
}

export interface WaitOptions {
  /** Default: 1. */
  readonly count?: number;
  /** Default: `10s`, at most `50s`. */
  readonly timeout?: string;
  readonly from?: string;
  /** Id of a request. Only requests received after it count. */
  readonly after?: string;
}

/** The captured requests of a project. All methods reject with a `StandinError`. */
export class Project {
  readonly namespace: string;
  readonly name: string;
  protected readonly api: Api;

  constructor(api: Api, namespace: string, name: string) {
    this.api = api;
    this.namespace = namespace;
    this.name = name;
  }

  protected get path(): string {
    return apiPath('namespaces', this.namespace, 'projects', this.name);
  }

  /** Returns the number of requests that match a search. */
  async count(q = '', window: Window = {}): Promise<number> {
    const query = { q, ...window };
    return (await this.api.ask<Schemas['RequestCount']>(`${this.path}/requests:count`, { query })).count;
  }

  /** Returns the requests that match a search, oldest first. */
  async requests(q = '', window: Window & { readonly limit?: number } = {}): Promise<readonly CapturedRequest[]> {
    const query = { q, order: 'oldest-first', ...window };
    return (await this.api.ask<{ items: CapturedRequest[] }>(`${this.path}/requests`, { query })).items;
  }

  /** Resolves as soon as requests match a search. Rejects with the code `wait_timeout` at the timeout. */
  async wait(q = '', options: WaitOptions = {}): Promise<readonly CapturedRequest[]> {
    const query = { q, ...options };
    return (await this.api.ask<{ items: CapturedRequest[] }>(`${this.path}/requests:wait`, { query })).items;
  }

  /** Resolves if all expectations hold. Rejects with a `StandinAssertionError` otherwise. */
  assert(expectations: readonly Expectation[], options: AssertOptions = {}): Promise<AssertionResult> {
    const all = expectations.map((expectation) => (typeof expectation === 'string' ? { q: expectation } : expectation));
    const body = { ...options, expectations: all };
    return this.api.ask(`${this.path}/requests:assert`, { method: 'POST', body });
  }
}

/** A project that exists only for a test. */
export class CreatedProject extends Project {
  /** The beginning of the URLs of its endpoints. */
  readonly url: string;
  /** The value of the header x-api-key. */
  readonly apiKey: string;

  constructor(
    api: Api,
    { namespace, name, url, apiKey }: Pick<CreatedProject, 'namespace' | 'name' | 'url' | 'apiKey'>,
  ) {
    super(api, namespace, name);
    this.url = url;
    this.apiKey = apiKey;
  }

  /**
   * Deletes the project with its endpoints. Captured requests expire after a day. With `requests: true`, deletes them first, which takes
   * some seconds and requires permission to create Purges.
   */
  async delete({ requests = false }: { readonly requests?: boolean } = {}): Promise<void> {
    if (requests) await this.#purge();
    await this.api.ask(this.path, { method: 'DELETE' });
  }

  /** Deletes the project, unless it is deleted. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete().catch((error: unknown) => {
      if (!(error instanceof StandinError && error.code === 'project_not_found')) throw error;
    });
  }

  async #purge(): Promise<void> {
    const to = new Date().toISOString();
    const body: Body<'createPurge'> = { filter: { to }, requests: 'All', reason: 'The test has ended.' };
    const { name } = await this.api.ask<Schemas['Purge']>(`${this.path}/purges`, { method: 'POST', body });
    for (let waitedMs = 0; waitedMs < PURGE_WAIT_MS_MAX; waitedMs += PURGE_POLL_MS) {
      await delay(PURGE_POLL_MS);
      const { status } = await this.api.ask<Schemas['Purge']>(`${this.path}/purges/${name}`);
      if (status.phase === 'Completed') return;
      if (status.phase === 'Refused') break;
    }
    throw new StandinError(
      `the Purge ${name} in namespace ${this.namespace} has not deleted the requests: see its conditions.`,
    );
  }
}

const PURGE_POLL_MS = 250;
const PURGE_WAIT_MS_MAX = 60_000;
const NAME_BYTES = 5;

export const createProject = async (
  api: Api,
  { endpoints, namespace = 'default', account = 'default', prefix = 'test' }: NewProject,
): Promise<CreatedProject> => {
  const name = `${prefix}-${randomBytes(NAME_BYTES).toString('hex')}`;
  const body: Body<'createProject'> = {
    name,
    temporary: true,
    // Requests of a test that is killed before it deletes its project do not stay for long.
    spec: { accountRef: { name: account }, retentionDays: 1 },
    // Names of Endpoints are unique in a namespace, and several test files may use the same manifests.
    endpoints: endpoints.map(({ metadata, spec }) => ({
      name: `${name}-${metadata.name}`,
      spec: { ...spec, projectRef: undefined },
    })),
  };
  const path = apiPath('namespaces', namespace, 'projects');
  try {
    const created = await api.ask<Schemas['CreatedProject']>(path, { method: 'POST', body });
    if (!created.isReady || created.url === undefined)
      throw new StandinError(`the project did not become ready: ${created.message}`);
    const key = apiPath('namespaces', namespace, 'accounts', account, 'key');
    const { apiKey } = await api.ask<Schemas['ApiKey']>(key);
    return new CreatedProject(api, { namespace, name, url: created.url, apiKey });
  } catch (error) {
    // It may exist although the response is an error, or was lost.
    await api.ask(`${path}/${encodeURIComponent(name)}`, { method: 'DELETE' }).catch(() => undefined);
    throw error;
  }
};
