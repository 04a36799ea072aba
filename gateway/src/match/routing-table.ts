import type { AccountConfig, ConfigKey, EndpointConfig, Method, ProjectConfig } from '@standin/contract';
import { PatternTable } from '@standin/responses';
import type { Endpoint } from '../request/route.ts';

/** A configuration object that this gateway can serve. */
export type TableEntry =
  | { readonly kind: 'Account'; readonly config: AccountConfig }
  | { readonly kind: 'Project'; readonly config: ProjectConfig }
  | { readonly kind: 'Endpoint'; readonly config: EndpointConfig; readonly endpoint: Endpoint };

export type Methods = ReadonlyMap<string, Endpoint>;
type MutableMethods = Map<Method, Endpoint>;

/** The endpoints of a project. */
interface Paths {
  readonly literals: Map<string, MutableMethods>;
  readonly patterns: PatternTable<MutableMethods>;
}

const NO_HOLDERS: readonly AccountConfig[] = [];

/** Returns the path without the differences that users overlook: case and trailing slashes. */
const looseForm = (path: string): string => {
  let end = path.length;
  // This loop is not a regular expression, because a regular expression would take quadratic time on a long run of slashes inside
  // the path.
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end).toLowerCase();
};

/**
 * The configuration that requests are matched against. The cost of `put` and `remove` does not depend on the number of
 * objects. A transaction changes the table synchronously, so no request sees a half-applied change.
 */
export class RoutingTable {
  readonly #entries = new Map<ConfigKey, TableEntry>();
  readonly #holders = new Map<string, readonly AccountConfig[]>();
  readonly #projects = new Map<string, ProjectConfig>();
  readonly #paths = new Map<string, Paths>();
  /**
   * Maps the loose form to the path, per project. A project's map is built when a path is not found, and dropped when an endpoint
   * in the project changes.
   */
  readonly #looseForms = new Map<string, Map<string, string>>();

  get size(): number {
    return this.#entries.size;
  }

  entry(key: ConfigKey): TableEntry | undefined {
    return this.#entries.get(key);
  }

  entries(): IterableIterator<TableEntry> {
    return this.#entries.values();
  }

  /** Returns the accounts whose key has this digest. */
  holdersOf(keySha256: string): readonly AccountConfig[] {
    return this.#holders.get(keySha256) ?? NO_HOLDERS;
  }

  projectAt(uri: string): ProjectConfig | undefined {
    return this.#projects.get(uri);
  }

  /** Returns the endpoints whose slug is this path, by method. */
  methodsAt(projectUid: string, path: string): Methods | undefined {
    return this.#paths.get(projectUid)?.literals.get(path);
  }

  /** Returns the endpoints whose slug has parameters and matches this path, by method, in order of precedence. */
  patternsAt(projectUid: string, path: string): Iterable<Methods> {
    return this.#paths.get(projectUid)?.patterns.matches(path) ?? [];
  }

  /** Returns a path in the project that differs only in case or trailing slashes, or undefined if there is none. */
  similarPath(projectUid: string, path: string): string | undefined {
    let loose = this.#looseForms.get(projectUid);
    if (loose === undefined) {
      loose = new Map(
        [...(this.#paths.get(projectUid)?.literals.keys() ?? [])].map((known) => [looseForm(known), known]),
      );
      this.#looseForms.set(projectUid, loose);
    }
    return loose.get(looseForm(path));
  }

  put(key: ConfigKey, entry: TableEntry): void {
    this.remove(key);
    this.#entries.set(key, entry);
    switch (entry.kind) {
      case 'Account': {
        const { keySha256 } = entry.config;
        if (keySha256 !== undefined) this.#holders.set(keySha256, [...this.holdersOf(keySha256), entry.config]);
        break;
      }
      case 'Project':
        this.#projects.set(entry.config.uri, entry.config);
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
        const others = this.holdersOf(keySha256).filter((holder) => holder !== entry.config);
        if (others.length > 0) this.#holders.set(keySha256, others);
        else this.#holders.delete(keySha256);
        break;
      }
      case 'Project':
        // Another project may already have taken over the URI in the same transaction.
        if (this.#projects.get(entry.config.uri) === entry.config) this.#projects.delete(entry.config.uri);
        break;
      case 'Endpoint':
        this.#removeEndpoint(entry.endpoint);
    }
  }

  #putEndpoint(endpoint: Endpoint): void {
    const { projectUid, method } = endpoint.config;
    const paths: Paths = this.#paths.get(projectUid) ?? { literals: new Map(), patterns: new PatternTable() };
    const methods = methodsOf(paths, endpoint) ?? new Map<Method, Endpoint>();
    this.#paths.set(projectUid, paths);
    if (endpoint.pattern === undefined) paths.literals.set(endpoint.config.slug, methods);
    else paths.patterns.set(endpoint.pattern, methods);
    methods.set(method, endpoint);
    this.#looseForms.delete(projectUid);
  }

  #removeEndpoint(endpoint: Endpoint): void {
    const { projectUid, slug, method } = endpoint.config;
    const paths = this.#paths.get(projectUid);
    const methods = paths && methodsOf(paths, endpoint);
    if (paths === undefined || methods?.get(method) !== endpoint) return;
    methods.delete(method);
    if (methods.size === 0) {
      if (endpoint.pattern === undefined) paths.literals.delete(slug);
      else paths.patterns.delete(endpoint.pattern);
    }
    if (paths.literals.size === 0 && paths.patterns.isEmpty) this.#paths.delete(projectUid);
    this.#looseForms.delete(projectUid);
  }
}

const methodsOf = ({ literals, patterns }: Paths, { config, pattern }: Endpoint): MutableMethods | undefined =>
  pattern === undefined ? literals.get(config.slug) : patterns.get(pattern);
