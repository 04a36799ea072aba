import {
  configKey,
  FairSelection,
  LIMITS,
  type AccountConfig,
  type AuthorityConfig,
  type ConfigKey,
  type ProjectConfig,
} from '@standin/contract';
import type { Authority } from '@standin/egress';
import { PathTable, type Place } from '@standin/responses';
import type { Endpoint } from '../request/route.ts';

/** A configuration object that this gateway can serve. */
export type TableEntry =
  | { readonly kind: 'Account'; readonly config: AccountConfig }
  | { readonly kind: 'Project'; readonly config: ProjectConfig }
  | { readonly kind: 'Authority'; readonly config: AuthorityConfig; readonly authority: Authority }
  | {
      readonly kind: 'Endpoint';
      readonly endpoint: Endpoint;
      /** The configuration in JSON. */ readonly json: Uint8Array;
    };

const NO_HOLDERS: readonly AccountConfig[] = [];

/**
 * The configuration that requests are matched against. The cost of `put` and `remove` does not depend on the number of
 * objects. A transaction changes the table synchronously, so no request sees a half-applied change.
 */
export class RoutingTable {
  readonly #entries = new Map<ConfigKey, TableEntry>();
  readonly #holders = new Map<string, readonly AccountConfig[]>();
  readonly #projects = new Map<string, ProjectConfig>();
  /** The projects with metrics. All gateways must count the same ones, or the sum of their metrics would be wrong. */
  readonly #withMetrics = new FairSelection(LIMITS.projectSeriesMax);
  readonly #paths = new Map<string, PathTable<Endpoint>>();

  get size(): number {
    return this.#entries.size;
  }

  entry(key: ConfigKey): TableEntry | undefined {
    return this.#entries.get(key);
  }

  entries(): IterableIterator<TableEntry> {
    return this.#entries.values();
  }

  accountsWithKey(keySha256: string): readonly AccountConfig[] {
    return this.#holders.get(keySha256) ?? NO_HOLDERS;
  }

  account(uid: string): AccountConfig | undefined {
    const entry = this.#entries.get(configKey({ kind: 'Account', uid }));
    return entry?.kind === 'Account' ? entry.config : undefined;
  }

  acceptsSecret(endpointUid: string, secretId: string): boolean {
    const entry = this.#entries.get(configKey({ kind: 'Endpoint', uid: endpointUid }));
    return entry?.kind === 'Endpoint' && entry.endpoint.credential?.secretIds.includes(secretId) === true;
  }

  /** Returns whether an endpoint's upstream gets a secret. */
  sendsSecret(endpointUid: string, secretId: string): boolean {
    const entry = this.#entries.get(configKey({ kind: 'Endpoint', uid: endpointUid }));
    if (entry?.kind !== 'Endpoint' || entry.endpoint.kind !== 'Forward') return false;
    return entry.endpoint.forward.secretHeaders?.some((header) => header.secretId === secretId) === true;
  }

  projectAt(uri: string): ProjectConfig | undefined {
    return this.#projects.get(uri);
  }

  endpointPaths(projectUid: string): PathTable<Endpoint> | undefined {
    return this.#paths.get(projectUid);
  }

  /** Returns whether the requests to an active project are counted separately. */
  hasMetrics(project: ProjectConfig): boolean {
    return this.#withMetrics.has(project.namespace, metricsName(project));
  }

  put(key: ConfigKey, entry: TableEntry): void {
    this.remove(key);
    this.#entries.set(key, entry);
    switch (entry.kind) {
      case 'Account': {
        const { keySha256 } = entry.config;
        if (keySha256 !== undefined) this.#holders.set(keySha256, [...this.accountsWithKey(keySha256), entry.config]);
        break;
      }
      case 'Project':
        this.#projects.set(entry.config.uri, entry.config);
        if (entry.config.metrics !== undefined)
          this.#withMetrics.add(entry.config.namespace, metricsName(entry.config));
        break;
      case 'Authority':
        break;
      case 'Endpoint':
        this.#putEndpoint(entry.endpoint);
    }
  }

  remove(key: ConfigKey): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    switch (entry.kind) {
      case 'Account': {
        const { keySha256 = '' } = entry.config;
        const others = this.accountsWithKey(keySha256).filter((holder) => holder !== entry.config);
        if (others.length > 0) this.#holders.set(keySha256, others);
        else this.#holders.delete(keySha256);
        break;
      }
      case 'Project':
        // Another project may already have taken over the URI in the same transaction.
        if (this.#projects.get(entry.config.uri) === entry.config) this.#projects.delete(entry.config.uri);
        this.#withMetrics.delete(entry.config.namespace, metricsName(entry.config));
        break;
      case 'Authority':
        break;
      case 'Endpoint':
        this.#removeEndpoint(entry.endpoint);
    }
  }

  #putEndpoint(endpoint: Endpoint): void {
    const { projectUid } = endpoint.config;
    const paths = this.#paths.get(projectUid) ?? new PathTable<Endpoint>();
    this.#paths.set(projectUid, paths);
    paths.put(endpointPlace(endpoint), endpoint);
  }

  #removeEndpoint(endpoint: Endpoint): void {
    const { projectUid } = endpoint.config;
    const paths = this.#paths.get(projectUid);
    const place = endpointPlace(endpoint);
    // Another endpoint may already have taken over the path in the same transaction.
    if (paths?.get(place) !== endpoint) return;
    paths.delete(place);
    if (paths.isEmpty) this.#paths.delete(projectUid);
  }
}

/** Differs from that of a project with the same name that is removed in the same transaction. */
const metricsName = ({ name, uid }: ProjectConfig): string => `${name} ${uid}`;

const endpointPlace = ({ config: { slug, method }, pattern }: Endpoint): Place => ({ slug, method, pattern });
