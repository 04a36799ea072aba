/**
 * What a Share hides besides `ALWAYS_HIDDEN` and credentials that are known by their form. Names are compared without regard to
 * case, and `*` stands for any characters. `headers`: of request and answer, trailers included. `query`: of the query string, of
 * form and multipart fields, and of `name=value` and `name: value` in text. `jsonPaths`: `$.card.number`, `$.items[*].id`,
 * `$["odd key"]`, `$..secret` (at any depth), `$` (all of it).
 */
export interface RedactionRules {
  readonly headers: readonly string[];
  readonly query: readonly string[];
  readonly jsonPaths: readonly string[];
}

/** Headers that no rule has to name, and that none brings back. */
export const ALWAYS_HIDDEN = ['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-api-key'] as const;

/** A place in a JSON document. */
export interface JsonCursor {
  readonly isHidden: boolean;
  enter(key: string | number): JsonCursor;
}

/** Decides about every field that a redaction comes across. */
export interface FieldMatcher {
  header(name: string): boolean;
  /** `queryValue`: it is a parameter of a query string or form, and this is its value. */
  field(name: string, queryValue?: string): boolean;
  readonly document: JsonCursor;
}

/** `*` stands for any characters. The pieces between stars are looked for from left to right, so no name is read twice. */
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
  /** Any number of levels may lie before it. */
  readonly deep: boolean;
  /** Lower case, `*` as in names; `index`: an array's item. */
  readonly name: string;
}

const STEP = /(\.\.|\.)?(?:([^.[\]"\s][^.[\]"]*)|\[(?:(\d+|\*)|"([^"\\]+)")\])/y;

/** `undefined` where it is not such a path. */
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

/** One step of a path. What a path cannot spell, `*` stands for. */
export const formatJsonName = (name: string): string =>
  PLAIN_NAME.test(name) ? `.${name}` : `["${name.replaceAll(/["\\]/g, '*')}"]`;

/** Characters of one step that are shown: a document decides how long its keys are, and every value below one has its place. */
const SHOWN_NAME_LENGTH_MAX = 128;

/** `$.card["odd key"].items[*]`: how a place is shown, all items of an array as one. */
export const formatJsonPath = (keys: readonly (string | number)[]): string =>
  `$${keys.map((key) => (typeof key === 'number' ? '[*]' : formatJsonName(key.slice(0, SHOWN_NAME_LENGTH_MAX)))).join('')}`;

/** How far each path has come: the steps that the next key may take. */
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

/** A path that cannot be read hides nothing: whoever takes rules from people checks them first (`parseJsonPath`). */
export const compileRules = ({ headers, query, jsonPaths }: RedactionRules): FieldMatcher => {
  const paths = jsonPaths.flatMap((text) => {
    const steps = parseJsonPath(text);
    return steps === undefined ? [] : [steps];
  });
  const isHeader = nameMatcher([...headers, ...ALWAYS_HIDDEN]);
  return {
    header: isHeader,
    field: nameMatcher(query),
    document: new PathCursor(
      paths,
      paths.map(() => [0]),
    ),
  };
};
