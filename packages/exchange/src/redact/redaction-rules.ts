/**
 * What a Share hides in addition to `ALWAYS_HIDDEN`, callers' addresses, and credentials that are recognized by their format. Names
 * are case-insensitive, and `*` matches any characters. `headers` applies to request and response headers, including trailers.
 * `query` applies to query string parameters, form and multipart fields, and `name=value` and `name: value` in text. `jsonPaths`
 * contains paths such as `$.card.number`, `$.items[*].id`, `$["odd key"]`, `$..secret` (at any depth) and `$` (the whole
 * document).
 */
export interface RedactionRules {
  readonly headers: readonly string[];
  readonly query: readonly string[];
  readonly jsonPaths: readonly string[];
}

/**
 * Headers that are hidden without a rule and that no rule can show. A body may contain the headers of another request, so fields and
 * JSON members with these names are hidden, too.
 */
export const ALWAYS_HIDDEN = ['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-api-key'] as const;

/**
 * Headers in which proxies and content delivery networks state a caller's address. These headers are also hidden without a rule.
 */
export const ADDRESS_HEADERS: readonly string[] = [
  'x-forwarded-for',
  'x-original-forwarded-for',
  'forwarded',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-azure-clientip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-pseudo-ipv4',
  'true-client-ip',
  'fastly-client-ip',
  'fly-client-ip',
];

/** A position in a JSON document. */
export interface JsonCursor {
  readonly isHidden: boolean;
  enter(key: string | number): JsonCursor;
}

/** Decides whether to hide each field that a redaction visits. */
export interface FieldMatcher {
  header(name: string): boolean;
  /**
   * Returns whether to hide a field. `queryValue` is the value or its beginning if the field is a parameter in a query string or
   * form, and undefined otherwise.
   */
  field(name: string, queryValue?: string): boolean;
  readonly document: JsonCursor;
}

/**
 * Matches a name against a glob, in which `*` matches any characters. The search for the pieces between the stars runs from left
 * to right, so that no character is read twice.
 */
export const globMatches = (glob: string, name: string): boolean => {
  const [first = '', ...rest] = glob.split('*');
  const last = rest.pop();
  if (last === undefined) return name === glob;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at <= name.length - last.length;
};

const nameMatcher = (globs: readonly string[]): ((name: string) => boolean) => {
  const lower = globs.map((glob) => glob.toLowerCase());
  return (name) => {
    const candidate = name.toLowerCase();
    return lower.some((glob) => globMatches(glob, candidate));
  };
};

interface Step {
  /** Whether any number of levels may precede the step. */
  readonly deep: boolean;
  /** The name in lowercase, which may contain `*`. For an array item, the name is the index. */
  readonly name: string;
}

const STEP = /(\.\.|\.)?(?:([^.[\]"\s][^.[\]"]*)|\[(?:(\d+|\*)|"([^"\\]+)")\])/y;

/** Parses a path as in `RedactionRules.jsonPaths`. Returns `undefined` if the text is not such a path. */
export const parseJsonPath = (text: string): readonly Step[] | undefined => {
  if (!text.startsWith('$')) return undefined;
  const steps: Step[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < text.length) {
    const match = STEP.exec(text);
    if (match === null) return undefined;
    const [, dots, plain, index, quoted = ''] = match;
    if (plain !== undefined ? dots === undefined : dots === '.') return undefined;
    const name = plain ?? index ?? quoted;
    steps.push({ deep: dots === '..', name: name.toLowerCase() });
  }
  return steps;
};

const PLAIN_NAME = /^[A-Za-z_*][\w*-]*$/;

/** Returns one step of a path. `*` replaces characters that a path cannot contain. */
export const formatJsonName = (name: string): string =>
  PLAIN_NAME.test(name) ? `.${name}` : `["${name.replaceAll(/["\\]/g, '*')}"]`;

/** Returns the path of every field with this name at any depth, such as `$..token` or `$..["odd key"]`. */
export const pathAtAnyDepth = (name: string): string => `$${formatJsonName(name).replace(/^\.?/, '..')}`;

/** The maximum number of characters shown per step. Keys come from captured data and can have any length. */
const SHOWN_NAME_LENGTH_MAX = 128;

/** Returns the displayed form of a position, such as `$.card["odd key"].items[*]`. All items of an array have the same form. */
export const formatJsonPath = (keys: readonly (string | number)[]): string =>
  `$${keys.map((key) => (typeof key === 'number' ? '[*]' : formatJsonName(key.slice(0, SHOWN_NAME_LENGTH_MAX)))).join('')}`;

/** Tracks which steps of each path the next key can match. */
class PathCursor implements JsonCursor {
  readonly #paths: readonly (readonly Step[])[];
  readonly #states: readonly (readonly number[])[];
  readonly isHidden: boolean;

  constructor(paths: readonly (readonly Step[])[], states: readonly (readonly number[])[]) {
    this.#paths = paths;
    this.#states = states;
    this.isHidden = states.some((reached, index) => reached.includes(paths[index]?.length ?? -1));
  }

  enter(key: string | number): JsonCursor {
    const name = String(key).toLowerCase();
    const next = this.#states.map((reached, index) => {
      const states = new Set<number>();
      for (const state of reached) {
        const step = this.#paths[index]?.[state];
        if (step === undefined) continue;
        if (step.deep) states.add(state);
        if (globMatches(step.name, name)) states.add(state + 1);
      }
      return [...states];
    });
    return new PathCursor(this.#paths, next);
  }
}

/**
 * Compiles rules. A path that cannot be parsed hides nothing. Code that accepts rules from users checks them first
 * (`parseJsonPath`).
 */
export const compileRedactionRules = ({ headers, query, jsonPaths }: RedactionRules): FieldMatcher => {
  const paths = [...jsonPaths, ...ALWAYS_HIDDEN.map(pathAtAnyDepth)].flatMap((text) => {
    const steps = parseJsonPath(text);
    return steps === undefined ? [] : [steps];
  });
  const isHeader = nameMatcher([...headers, ...ALWAYS_HIDDEN, ...ADDRESS_HEADERS]);
  return {
    header: isHeader,
    field: nameMatcher(query),
    document: new PathCursor(
      paths,
      paths.map(() => [0]),
    ),
  };
};
