import { isRecord, ownMember, type Method } from '@standin/contract';
import { PathTable, servedMethod } from '@standin/responses';
import { ContractError, ContractFiles, shortened, type Place } from './contract-files.ts';
import {
  matchTemplate,
  normalPath,
  parsePathTemplate,
  templateArrangement,
  type PathTemplate,
} from './path-template.ts';
import { SchemaCheck } from './schema-check.ts';

/** An operation of a contract. */
export interface Operation {
  /** The method and the path as in the contract, such as `GET /orders/{id}`. */
  readonly name: string;
  readonly method: string;
  readonly template: PathTemplate;
  readonly operation: Place;
  /** The value of `parameters` of the path. */
  readonly shared: Place;
}

/** A path of the contract below the base path of a server. */
interface ContractPath {
  readonly template: PathTemplate;
  readonly arrangement: string;
  readonly operations: Map<string, Operation>;
}

export type Found =
  | { readonly kind: 'operation'; readonly operation: Operation; readonly parameters: ReadonlyMap<string, string> }
  | { readonly kind: 'none'; readonly reason: string };

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'];

/** A contract in OpenAPI 3.0, 3.1 or 3.2. */
export class Contract {
  readonly files: ContractFiles;
  readonly schemas: SchemaCheck;
  readonly operations: readonly Operation[];
  /** First the paths below the base paths of servers, then the paths alone, because a project's URL may replace that of a server. */
  readonly #tables = [new PathLookup(), new PathLookup()] as const;

  /**
   * Reads the document and its paths. What they refer to is read when a request needs it. Throws a `ContractError`.
   *
   * @param warn is called with each part of the contract that cannot be checked
   */
  constructor(name: string, warn: (message: string) => void) {
    this.files = new ContractFiles(name);
    const { root } = this.files;
    const shown = this.files.shown(root.file);
    if (!isRecord(root.value)) throw new ContractError(`${shown} is not an OpenAPI document`);
    this.schemas = new SchemaCheck(this.files, checkVersion(root.value, shown), warn);
    const paths = root.value['paths'] ?? {};
    if (!isRecord(paths)) throw new ContractError(`${shown}: paths is not an object`);
    this.operations = Object.entries(paths).flatMap(([path, item]) =>
      path.startsWith('/') ? this.#addPath(path, item, root) : [],
    );
  }

  /**
   * Finds the operation of a request. HEAD is that of GET if the contract does not have it.
   *
   * @param received latin1, as received
   */
  find(method: string, received: string): Found {
    const path = normalPath(received);
    const segments = path.startsWith('/') ? path.slice(1).split('/') : [];
    for (const table of this.#tables) {
      const matching = table.matching(path, segments);
      for (const one of [method, servedMethod(method)])
        for (const { template, operations } of matching) {
          const operation = operations.get(one);
          const parameters = operation === undefined ? undefined : matchTemplate(template, segments);
          if (operation !== undefined && parameters !== undefined) return { kind: 'operation', operation, parameters };
        }
      const [first] = matching;
      if (first !== undefined) {
        const methods = [...first.operations.keys()].sort().join(', ');
        return {
          kind: 'none',
          reason: `method: the contract has ${methods === '' ? 'none' : `only ${methods}`} for the path`,
        };
      }
    }
    return { kind: 'none', reason: 'path: is not in the contract' };
  }

  #addPath(path: string, item: unknown, root: Place): readonly Operation[] {
    const place = this.files.follow({ file: root.file, value: item });
    const { file, value } = place;
    if (!isRecord(value))
      throw new ContractError(`${this.files.shown(file)}: the path ${shortened(path)} is not an object`);
    const shared = { file, value: value['parameters'] };
    const others = isRecord(value['additionalOperations']) ? value['additionalOperations'] : {};
    const declared = [...Object.entries(value).filter(([name]) => METHODS.includes(name)), ...Object.entries(others)];
    const operations = declared.map(([name, operation]): Operation => {
      const method = name.toUpperCase();
      const template = parsePathTemplate(path);
      return { name: `${method} ${path}`, method, template, operation: { file, value: operation }, shared };
    });
    const [own] = operations;
    if (own !== undefined) this.#tables[1].add(path, operations);
    for (const operation of operations)
      for (const base of this.#basePaths(operation, value, root))
        if (base !== '') this.#tables[0].add(base + path, [operation]);
    return operations;
  }

  /** The servers of the operation apply, or those of the path, or those of the document. */
  #basePaths({ operation }: Operation, item: Readonly<Record<string, unknown>>, root: Place): ReadonlySet<string> {
    const declared = [operation.value, item, root.value].map((one) => (isRecord(one) ? one['servers'] : undefined));
    const servers = declared.find((one) => Array.isArray(one) && one.length > 0) ?? [];
    return new Set((servers as readonly unknown[]).slice(0, SERVERS_MAX).map(basePath));
  }
}

const SERVERS_MAX = 20;

/** Returns whether the version is 3.0. */
const checkVersion = (root: Readonly<Record<string, unknown>>, shown: string): boolean => {
  const version = root['openapi'];
  if (root['swagger'] !== undefined)
    throw new ContractError(`${shown} has the format Swagger 2.0: convert it to OpenAPI 3 first`);
  if (typeof version !== 'string' || !/^3\.[0-2]\./.test(version))
    throw new ContractError(
      `${shown} is not an OpenAPI document of version 3.0, 3.1 or 3.2: its member openapi has another value`,
    );
  return version.startsWith('3.0.');
};

/** Returns the path of a server's URL without the slash at its end. Its variables have their default values. */
const basePath = (server: unknown): string => {
  if (!isRecord(server) || typeof server['url'] !== 'string') return '';
  const variables = isRecord(server['variables']) ? server['variables'] : {};
  const url = server['url'].replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const variable = ownMember(variables, name);
    return isRecord(variable) ? String(variable['default']) : '';
  });
  try {
    return new URL(url, 'http://localhost').pathname.replace(/\/+$/, '');
  } catch {
    return '';
  }
};

/** Paths with operations. */
class PathLookup {
  readonly #byPath = new Map<string, ContractPath>();
  readonly #table = new PathTable<ContractPath[]>();
  /** Paths that Endpoints cannot have. */
  readonly #mixed: ContractPath[] = [];

  add(path: string, operations: readonly Operation[]): void {
    const known = this.#byPath.get(path) ?? this.#addPath(path);
    for (const operation of operations) known.operations.set(operation.method, operation);
  }

  #addPath(path: string): ContractPath {
    const template = parsePathTemplate(path);
    const added = { template, arrangement: templateArrangement(template), operations: new Map<string, Operation>() };
    this.#byPath.set(path, added);
    const { pattern } = template;
    if (pattern === undefined || pattern.length > SEGMENTS_MAX) this.#mixed.push(added);
    else {
      const slug = `/${template.segments.flatMap(({ texts }) => texts).join('/')}`;
      const place = { slug, method: ANY, pattern: path.includes('{') ? pattern : undefined };
      // Paths that differ only in the names of parameters have one place.
      const same = this.#table.get(place);
      if (same === undefined) this.#table.put(place, [added]);
      else same.push(added);
    }
    return added;
  }

  /** Returns the paths that match, in order of precedence. */
  matching(path: string, segments: readonly string[]): readonly ContractPath[] {
    const found = this.#table.matches(path).flatMap((methods) => methods.get(ANY) ?? []);
    const mixed = this.#mixed.filter(({ template }) => matchTemplate(template, segments) !== undefined);
    if (mixed.length === 0) return found;
    return [...found, ...mixed].sort((a, b) =>
      a.arrangement < b.arrangement ? -1 : a.arrangement > b.arrangement ? 1 : 0,
    );
  }
}

/** The table has one method for each path. */
const ANY: Method = 'GET';
const SEGMENTS_MAX = 32;
