import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  keyFingerprint,
  type AccountConfig,
  type CredentialConfig,
  type EndpointConfig,
  type ForwardActionConfig,
  type HeaderPair,
  type JsonActionConfig,
  type Method,
  type ProjectConfig,
  type ResponseConfig,
} from '@standin/contract';
import type { LogEntry } from '@standin/exchange';
import { startEmbeddedEngine, type EmbeddedEngine, type EngineAddress } from '@standin/engine';
import { EVERY_PROJECT, openLogStore, type LogStore } from '@standin/logstore';
import pino from 'pino';
import { clickHouseQuery, type Query } from '../harness/clickhouse-query.ts';
import { eventually } from '../harness/eventually.ts';
import { freePorts } from '../harness/ports.ts';
import { CHART_NODE_ARGS, startProcess, type RunningProcess } from '../harness/processes.ts';
import { startConfigStream, type ConfigStream } from './config-stream.ts';
import { ask } from './raw-client.ts';

export interface StandOptions {
  /** Gateway settings in addition to the stand's own, such as `STANDIN_EGRESS_ALLOW`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeArgs?: readonly string[];
  /** Maps the engine's URL to the URL that the gateway uses for ClickHouse, such as that of a faulty proxy. */
  readonly clickhouse?: (engineUrl: string) => Promise<string>;
}

/** The time after any fault within which all rows must be in the log. */
const DELIVERED_WITHIN_MS = 60_000;

/** A project with its own account, in its own namespace. */
export interface Tenant {
  readonly key: string;
  readonly uri: string;
  readonly projectUid: string;
  readonly namespace: string;
  /** The text that the log contains in place of the key. */
  readonly storedKey: string;
}

export interface EndpointSpec {
  readonly slug: string;
  readonly method?: Method;
  readonly action: JsonActionConfig | ForwardActionConfig;
  readonly responses?: readonly ResponseConfig[];
  /** The value of a signing secret is its id. */
  readonly credential?: CredentialConfig;
  /** Those of the first tenant, unless they are set. */
  readonly namespace?: string;
  readonly projectUid?: string;
}

export const json = (body: string, more: Partial<JsonActionConfig> = {}): JsonActionConfig => ({
  kind: 'JSON',
  status: 200,
  headers: [],
  body,
  ...more,
});

export const forward = (url: string, more: Partial<ForwardActionConfig> = {}): ForwardActionConfig => ({
  kind: 'Forward',
  url,
  timeoutMs: 30_000,
  viaService: false,
  ...more,
});

/**
 * A real gateway process with the real embedded ClickHouse, configured over the real config stream. The test controls clients and
 * upstreams. The test calls `accept` for each accepted request. `verify` then checks that each is in the log once, and that the log
 * contains nothing else.
 */
export class Stand implements AsyncDisposable {
  readonly port: number;
  readonly adminPort: number;
  /** The folder with everything that the stand keeps on disk. The spool is in `gateway/spool`. The folder is removed at the end. */
  readonly directory: string;
  readonly clickhouse: EngineAddress;
  readonly enginePid: number;
  /** Runs a statement directly on the engine, not through `StandOptions.clickhouse`. */
  readonly query: Query;
  readonly gateway: RunningProcess;
  readonly store: LogStore;
  readonly tenants: readonly [Tenant, Tenant];
  /** The accounts of the tenants, with their current keys. */
  accounts: readonly [AccountConfig, AccountConfig];
  readonly #stream: ConfigStream;
  readonly #accepted: string[] = [];
  readonly #cleanups: (() => Promise<unknown>)[];
  #serial = 0;
  #listing: Promise<LogEntry[]> | undefined;

  private constructor(parts: {
    port: number;
    adminPort: number;
    directory: string;
    engine: EmbeddedEngine;
    gateway: RunningProcess;
    store: LogStore;
    stream: ConfigStream;
    tenants: readonly [NewTenant, NewTenant];
    cleanups: (() => Promise<unknown>)[];
  }) {
    this.port = parts.port;
    this.adminPort = parts.adminPort;
    this.directory = parts.directory;
    this.clickhouse = parts.engine;
    this.enginePid = parts.engine.pid ?? 0;
    this.query = clickHouseQuery(parts.engine);
    this.gateway = parts.gateway;
    this.store = parts.store;
    this.tenants = parts.tenants;
    this.accounts = [parts.tenants[0].account, parts.tenants[1].account];
    this.#stream = parts.stream;
    this.#cleanups = parts.cleanups;
  }

  /** Starts a stand with two tenants and the endpoint `GET /verify`. Resolves when the gateway is ready to serve them. */
  static async start(options: StandOptions = {}): Promise<Stand> {
    const directory = await mkdtemp(path.join(tmpdir(), 'standin-torture-'));
    const cleanups: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })];
    try {
      const engine = await startEmbeddedEngine({ dataDir: path.join(directory, 'clickhouse') });
      cleanups.push(() => engine.stop());
      const store = openLogStore({ ...engine, database: 'standin' });
      cleanups.push(() => store.close());
      await store.migrate();
      const stream = await startConfigStream(pino({ level: 'silent' }));
      cleanups.push(() => stream.close());
      const tlsDir = path.join(directory, 'tls');
      await mkdir(tlsDir);
      for (const [name, text] of Object.entries(stream.gatewayFiles)) await writeFile(path.join(tlsDir, name), text);
      const [port = 0, adminPort = 0] = await freePorts(2);
      const gateway = startProcess({
        name: 'gateway',
        main: 'gateway/src/main.ts',
        nodeArgs: [...CHART_NODE_ARGS, ...(options.nodeArgs ?? [])],
        env: {
          STANDIN_HOST: '127.0.0.1',
          STANDIN_PORT: String(port),
          STANDIN_ADMIN_HOST: '127.0.0.1',
          STANDIN_ADMIN_PORT: String(adminPort),
          STANDIN_NAME: 'gateway-0',
          STANDIN_DATA_DIR: path.join(directory, 'gateway'),
          STANDIN_OPERATOR_URLS: stream.url,
          STANDIN_OPERATOR_TLS_DIR: tlsDir,
          STANDIN_CLICKHOUSE_URL: (await options.clickhouse?.(engine.url)) ?? engine.url,
          STANDIN_CLICKHOUSE_USERNAME: engine.username,
          STANDIN_CLICKHOUSE_PASSWORD: engine.password,
          STANDIN_CLICKHOUSE_DATABASE: 'standin',
          STANDIN_DRAIN_MS: '0',
          STANDIN_LOG_LEVEL: 'warn',
          ...options.env,
        },
      });
      cleanups.push(() => gateway.kill('SIGKILL'));
      const tenants: [NewTenant, NewTenant] = [tenant('own'), tenant('other')];
      stream.publish(tenants.flatMap(({ account, project }) => [account, project]));
      await gateway.waitForUrl(`http://127.0.0.1:${adminPort}/readyz`);
      const stand = new Stand({ port, adminPort, directory, engine, gateway, store, stream, tenants, cleanups });
      await stand.publish({ slug: '/verify', action: json('{}') });
      return stand;
    } catch (error) {
      for (const cleanup of cleanups.reverse()) await cleanup();
      throw error;
    }
  }

  /** The URL from which the gateway gets its configuration. */
  get streamUrl(): string {
    return this.#stream.url;
  }

  get own(): Tenant {
    return this.tenants[0];
  }

  /**
   * Adds endpoints to the first tenant's project. Resolves when the gateway has acknowledged all of them, with the reason for each
   * rejected endpoint.
   */
  async publish(...specs: readonly EndpointSpec[]): Promise<ReadonlyMap<string, string>> {
    const objects = specs.map((spec): EndpointConfig => {
      const name = `${(spec.method ?? 'GET').toLowerCase()}${spec.slug.replaceAll('/', '-')}`;
      return {
        kind: 'Endpoint',
        uid: createHash('sha256').update(name).digest('hex').slice(0, 32),
        namespace: this.own.namespace,
        name,
        projectUid: this.own.projectUid,
        generation: 1,
        method: 'GET',
        ...spec,
      };
    });
    return this.#stream.publishAndAwait(objects);
  }

  /** Limits the requests per second of the first tenant. Resolves when the gateway has acknowledged it. */
  async limitRate(requestsPerSecond: number): Promise<void> {
    const [own, other] = this.accounts;
    this.accounts = [{ ...own, requestsPerSecond }, other];
    await this.#stream.publishAndAwait(this.accounts);
  }

  /** Exchanges the keys of the two accounts in one change. Resolves when the gateway has acknowledged it. */
  async exchangeKeys(): Promise<void> {
    const [own, other] = this.accounts;
    const [ownKey = '', otherKey = ''] = [own.keySha256, other.keySha256];
    this.accounts = [
      { ...own, keySha256: otherKey },
      { ...other, keySha256: ownKey },
    ];
    await this.#stream.publishAndAwait(this.accounts);
  }

  /** Returns a query string that is unique to one request and identifies its row. */
  marker(): string {
    this.#serial += 1;
    return `n=${this.#serial}`;
  }

  /** Returns a target for one of the first tenant's endpoints, with its own marker. */
  target(slug: string, marker = this.marker()): string {
    return `/${this.own.uri}${slug}?${marker}`;
  }

  /** Returns a valid request head for this target, including the empty line. */
  head(method: string, target: string, headers: readonly HeaderPair[] = []): string {
    const lines = [['Host', 'gateway'], ['x-api-key', this.own.key], ...headers] as const;
    return `${method} ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  }

  /** Records that the request with this marker was accepted. The log must contain its row once. */
  accept(marker: string): void {
    this.#accepted.push(marker);
  }

  /**
   * Checks that every accepted request has exactly one row, and that no project has rows of other requests. Sends a final request, whose row
   * proves that the gateway still responds and that all earlier rows are in the log. Returns up to 1,000 entries, oldest first.
   */
  async verify(): Promise<readonly LogEntry[]> {
    const marker = this.marker();
    const answer = await ask(this.port, this.head('GET', this.target('/verify', marker)));
    assert.equal(answer?.status, 200);
    this.accept(marker);
    const expected = [...this.#accepted].sort();
    const readMarkers = async (): Promise<string[]> =>
      (await this.store.summaries({ projectUid: EVERY_PROJECT, limit: 10_000 })).map(({ query }) => query);
    const seen = await eventually('the rows of all accepted requests', readMarkers, {
      accept: (markers) => markers.length >= expected.length && markers.includes(marker),
      timeoutMs: DELIVERED_WITHIN_MS,
    });
    assert.deepEqual([...seen].sort(), expected);
    return this.store.list({ projectUid: EVERY_PROJECT, limit: 1_000, order: 'oldest-first' });
  }

  /** Returns the number of rows in the log. Each id counts once. */
  async countRows(): Promise<number> {
    return Number(await this.query('SELECT uniqExact(id) FROM log FORMAT TSV'));
  }

  /** Kills the gateway and starts it again. Resolves with the restart time in milliseconds when the gateway is ready. */
  async crash(): Promise<number> {
    await this.gateway.kill('SIGKILL');
    const started = performance.now();
    await this.gateway.restart();
    await this.ready();
    return performance.now() - started;
  }

  /** Kills the gateway at random moments. Resolves with the times of the restarts in milliseconds. */
  async crashRepeatedly(kills: number): Promise<readonly number[]> {
    const restartsMs: number[] = [];
    for (let kill = 0; kill < kills; kill += 1) {
      await delay(200 + Math.random() * 800);
      restartsMs.push(await this.crash());
    }
    return restartsMs;
  }

  async ready(): Promise<void> {
    await this.gateway.waitForUrl(`http://127.0.0.1:${this.adminPort}/readyz`);
  }

  async metric(name: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.adminPort}/metrics`)).text();
    return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
  }

  /** Resolves with the row of a request when it has ended. */
  async row(marker: string): Promise<LogEntry> {
    const find = async () =>
      (await this.#list()).find(({ query, outcome }) => query === marker && outcome !== 'in_progress');
    const row = await eventually(`the row ${marker}`, find, { timeoutMs: DELIVERED_WITHIN_MS });
    assert(row);
    return row;
  }

  /** Returns the newest entries. Concurrent callers share one query. */
  #list(): Promise<LogEntry[]> {
    this.#listing ??= this.store
      .list({ projectUid: EVERY_PROJECT, limit: 1_000 })
      .finally(() => (this.#listing = undefined));
    return this.#listing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }
}

interface NewTenant extends Tenant {
  readonly account: AccountConfig;
  readonly project: ProjectConfig;
}

const tenant = (name: string): NewTenant => {
  const key = `sk_${randomUUID().replaceAll('-', '')}`;
  const uri = randomUUID().replaceAll('-', '').slice(0, 24);
  const projectUid = randomUUID();
  const accountUid = randomUUID();
  const keySha256 = createHash('sha256').update(key).digest('hex');
  const named = { namespace: `torture-${name}`, name };
  return {
    key,
    uri,
    projectUid,
    namespace: named.namespace,
    storedKey: `sha256:${keyFingerprint(keySha256)}`,
    account: { kind: 'Account', uid: accountUid, ...named, plan: 'Free', keySha256 },
    project: {
      kind: 'Project',
      uid: projectUid,
      ...named,
      accountUid,
      uri,
      url: `https://mocks.example.com/${uri}`,
      retentionDays: 1,
    },
  };
};
