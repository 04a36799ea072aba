// client-node's KubeConfig opens connections for each call, and treats KUBECONFIG and token files differently from kubectl.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { AgentOptions } from 'node:https';
import { HttpMethod, KubeConfig, RequestContext, type Cluster } from '@kubernetes/client-node';
import { Agent, ProxyAgent, type Dispatcher, type buildConnector } from 'undici';
import { parse } from 'yaml';
import { kubeconfigFiles } from './settings.ts';

type DispatcherOptions = ReturnType<KubeConfig['createDispatcherOptions']>;

/** By default, the maximum number of connections of the lanes `shared` and `urgent`, each. Further calls wait for one of them. */
const LANE_CONNECTIONS_MAX = 8;
/** The same as Go's default. An API server does not close idle connections earlier. */
const IDLE_CONNECTION_MS = 90_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** A peer that has disappeared is detected after this time plus ten probes of one second each (libuv). */
const TCP_KEEPALIVE_MS = 10_000;
/**
 * How long a token that was read from a file is used. The kubelet renews a projected token long before the token expires, so it is
 * still valid at this age. client-go reads the file once a minute.
 */
const TOKEN_FILE_MAX_AGE_MS = 10_000;

/**
 * `shared` is for ordinary calls over a few kept-alive connections. `urgent` is the same with other connections, for calls that a
 * request to a gateway waits for. `own` is for watches, which occupy a connection each, and for the renewal of a lease, which must not
 * wait behind other calls.
 */
export type Lane = 'shared' | 'urgent' | 'own';

/** The credentials and connections for a call. */
interface Authenticated {
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher | undefined;
}

const createDispatcher = (options: DispatcherOptions, connections: number | null): Dispatcher => {
  const common = {
    connections,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    // With HTTP/2, one dead connection would silence all watches together.
    allowH2: false,
  };
  if (options.type === 'proxy') {
    // The cast changes only the types, because those of undici do not allow `undefined`.
    const { uri, requestTls, connect } = options as {
      uri: string;
      requestTls: buildConnector.BuildOptions;
      connect: buildConnector.BuildOptions;
    };
    return new ProxyAgent({ ...common, uri, requestTls, connect });
  }
  const tls = (options.type === 'agent' ? options.connect : {}) as buildConnector.BuildOptions;
  const connect = { ...tls, keepAlive: true, keepAliveInitialDelay: TCP_KEEPALIVE_MS, timeout: CONNECT_TIMEOUT_MS };
  return new Agent({ ...common, connect });
};

const uniqueByName = <T extends { readonly name: string }>(items: readonly T[]): T[] =>
  items.filter(({ name }, index) => items.findIndex((item) => item.name === name) === index);

/**
 * A KubeConfig whose calls share connections. client-node 2.0.1 creates a dispatcher, and with it a TLS connection, for each call.
 * The dispatchers here are rebuilt when the CA or the client certificate changes on disk.
 */
export class SharedConnectionConfig extends KubeConfig {
  readonly #dispatchers = new Map<Lane, Dispatcher>();
  readonly #loadedFiles: string[] = [];
  #options: DispatcherOptions = { type: 'none' };
  #optionsKey = '';
  #tokenFile: string | undefined;
  #token: { readonly value: string; readonly readAt: number } | undefined;
  readonly #laneConnectionsMax: number;

  constructor(laneConnectionsMax = LANE_CONNECTIONS_MAX) {
    super();
    this.#laneConnectionsMax = laneConnectionsMax;
  }

  /** The kubeconfigs that were loaded. Empty without a kubeconfig. */
  get loadedFiles(): readonly string[] {
    return this.#loadedFiles;
  }

  /** `loadFromDefault` calls this, too. */
  override loadFromFile(...[file, options]: Parameters<KubeConfig['loadFromFile']>): void {
    super.loadFromFile(file, options);
    this.#loadedFiles.push(file);
  }

  /**
   * Loads the files of `KUBECONFIG`, as kubectl does: files that do not exist are skipped, and the first value of each name and of
   * the current context counts. client-node 2.0.1 uses the last current context, and throws for missing files and repeated names.
   */
  loadFromFiles(files: readonly [string, ...string[]]): void {
    const existing = files.filter((file) => existsSync(file));
    const [first = files[0], ...others] = existing;
    this.loadFromFile(first);
    for (const file of others) {
      const { clusters, contexts, users, currentContext } = this;
      this.loadFromFile(file);
      this.loadFromOptions({
        clusters: uniqueByName([...clusters, ...this.clusters]),
        contexts: uniqueByName([...contexts, ...this.contexts]),
        users: uniqueByName([...users, ...this.users]),
        currentContext: currentContext || this.currentContext,
      });
    }
  }

  /**
   * Sets the token file to re-read. client-node reads the token file of a kubeconfig only once, and under a name that kubectl
   * does not use.
   */
  setTokenFile(path: string): void {
    this.#tokenFile = path;
  }

  /**
   * Makes the next call read the token file again. Clients use this method after a 401 response. Returns whether the next call may have
   * another token.
   */
  forgetToken(): boolean {
    this.#token = undefined;
    return true;
  }

  override createDispatcherOptions(cluster: Cluster | null, agentOptions: AgentOptions): DispatcherOptions {
    const options = super.createDispatcherOptions(cluster, agentOptions);
    // The SOCKS connector is private to client-node, so a call through a SOCKS proxy keeps its own connection.
    if (options.type === 'socks') return options;
    this.#use(options);
    return { type: 'none' };
  }

  override async applySecurityAuthentication(context: RequestContext, lane: Lane = 'shared'): Promise<void> {
    await super.applySecurityAuthentication(context);
    const token = this.#readToken();
    if (token !== undefined) context.setHeaderParam('Authorization', `Bearer ${token}`);
    if (context.getDispatcher() === undefined) context.setDispatcher(this.#dispatcher(lane));
  }

  /** client-node calls this for WebSockets. The parameter has a type of `ws`, whose types are not installed. */
  override async applyToHTTPSOptions(options: { headers?: Readonly<Record<string, string>> }): Promise<void> {
    await super.applyToHTTPSOptions(options);
    const token = this.#readToken();
    if (token !== undefined) options.headers = { ...options.headers, Authorization: `Bearer ${token}` };
  }

  /** Returns the credentials for a call to this URL, and the connections that it uses. */
  async authenticate(url: string, lane?: Lane): Promise<Authenticated> {
    // The method does not matter, because only the headers and the dispatcher are read.
    const context = new RequestContext(url, HttpMethod.GET);
    await this.applySecurityAuthentication(context, lane);
    return { headers: context.getHeaders(), dispatcher: context.getDispatcher() };
  }

  /** Closes idle connections immediately, and the others when their calls end. */
  async close(): Promise<void> {
    const dispatchers = [...this.#dispatchers.values()];
    this.#dispatchers.clear();
    await Promise.all(dispatchers.map((dispatcher) => dispatcher.close()));
  }

  #use(options: DispatcherOptions): void {
    const key = JSON.stringify(options, (_, value: unknown) =>
      Buffer.isBuffer(value) ? value.toString('base64') : value,
    );
    if (key === this.#optionsKey) return;
    this.#options = options;
    this.#optionsKey = key;
    // Running calls finish on the old connections.
    for (const dispatcher of this.#dispatchers.values()) void dispatcher.close();
    this.#dispatchers.clear();
  }

  #dispatcher(lane: Lane): Dispatcher {
    const existing = this.#dispatchers.get(lane);
    if (existing !== undefined) return existing;
    const dispatcher = createDispatcher(this.#options, lane === 'own' ? null : this.#laneConnectionsMax);
    this.#dispatchers.set(lane, dispatcher);
    return dispatcher;
  }

  #readToken(): string | undefined {
    if (this.#tokenFile === undefined) return undefined;
    const now = performance.now();
    if (this.#token === undefined || now - this.#token.readAt > TOKEN_FILE_MAX_AGE_MS) {
      this.#token = { value: readFileSync(this.#tokenFile, 'utf8').trim(), readAt: now };
    }
    return this.#token.value;
  }
}

/**
 * Returns the configuration of the same cluster without the user's credentials. The connections carry no identity of their own,
 * such as a client certificate.
 */
export const anonymousConfig = (
  config: SharedConnectionConfig,
  laneConnectionsMax?: number,
): SharedConnectionConfig => {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error("the kubeconfig's current context does not name an existing cluster");
  const anonymous = new SharedConnectionConfig(laneConnectionsMax);
  anonymous.loadFromClusterAndUser(cluster, { name: 'anonymous' });
  return anonymous;
};

/**
 * Makes calls with one user's bearer token over the connections of an `anonymousConfig`. Many instances share these connections,
 * which stay open.
 */
class TokenConfig extends SharedConnectionConfig {
  readonly #shared: SharedConnectionConfig;
  readonly #token: string;

  constructor(shared: SharedConnectionConfig, token: string) {
    super();
    this.loadFromOptions({
      clusters: shared.getClusters(),
      contexts: shared.getContexts(),
      users: [],
      currentContext: shared.getCurrentContext(),
    });
    this.#shared = shared;
    this.#token = token;
  }

  override forgetToken(): boolean {
    return false;
  }

  override async applySecurityAuthentication(context: RequestContext, lane?: Lane): Promise<void> {
    await this.#shared.applySecurityAuthentication(context, lane);
    context.setHeaderParam('Authorization', `Bearer ${this.#token}`);
  }
}

export const tokenConfig = (anonymous: SharedConnectionConfig, token: string): SharedConnectionConfig =>
  new TokenConfig(anonymous, token);

interface RawKubeconfig {
  readonly users?: readonly { readonly name?: string; readonly user?: { readonly tokenFile?: string } }[];
}

/** Returns the current user's `tokenFile`, in kubectl's spelling, from the first file that contains the user. */
const findTokenFile = (paths: readonly string[], userName: string | undefined): string | undefined => {
  for (const path of paths) {
    const raw = parse(readFileSync(path, 'utf8')) as RawKubeconfig | null;
    const found = raw?.users?.find((user) => user.name === userName);
    if (found === undefined) continue;
    const file = found.user?.tokenFile;
    return file === undefined || isAbsolute(file) ? file : join(dirname(path), file);
  }
  return undefined;
};

export interface LoadOptions {
  /** Defaults to `KUBECONFIG`, then `~/.kube/config`, then the pod's own ServiceAccount. */
  readonly kubeconfigPath?: string;
  readonly context?: string;
}

/** Loads the configuration. Throws if the file cannot be read, or does not contain the context or its cluster. */
export const loadConfig = (options: LoadOptions = {}): SharedConnectionConfig => {
  const config = new SharedConnectionConfig();
  const path = options.kubeconfigPath;
  const [first, ...others] = kubeconfigFiles();
  if (path !== undefined) config.loadFromFile(path);
  else if (first === undefined) config.loadFromDefault();
  else config.loadFromFiles([first, ...others]);
  if (options.context !== undefined) config.setCurrentContext(options.context);
  if (config.getCurrentCluster() === null) {
    const names = config.getContexts().map((context) => context.name);
    const name = config.getCurrentContext();
    throw new Error(
      names.includes(name)
        ? `the kubeconfig does not contain the cluster of its context "${name}"`
        : `the kubeconfig has no context "${name}"; its contexts are: ${names.join(', ') || 'none'}`,
    );
  }
  const user = config.getCurrentUser();
  const inCluster = user?.authProvider as { config?: { tokenFile?: string } } | undefined;
  const tokenFile = inCluster?.config?.tokenFile ?? findTokenFile(config.loadedFiles, user?.name);
  if (tokenFile !== undefined) config.setTokenFile(tokenFile);
  return config;
};
