import { InvalidArgumentError } from 'commander';

/** A step of a path: a name, an index, or any. `isDeep` also matches any number of steps before it. */
interface Step {
  readonly key: string | undefined;
  readonly isDeep: boolean;
}

/** The parts of responses whose differences do not count. */
export class Ignored {
  readonly #headers = new Set<string>();
  readonly #paths: (readonly Step[])[] = [];

  /** Adds a JSONPath such as `$.id`, `$.items[*].id` or `$..id`, or `header:NAME`. Throws an `InvalidArgumentError`. */
  add(text: string): this {
    const [, header] = /^header:([!#$%&'*+.^_`|~\w-]+)$/.exec(text) ?? [];
    const steps = header === undefined ? parseSteps(text) : undefined;
    if (header !== undefined) this.#headers.add(header.toLowerCase());
    else if (steps !== undefined && steps.length > 0) this.#paths.push(steps);
    else throw new InvalidArgumentError("must be a path such as '$.id', '$.items[*].id' or '$..id', or header:NAME.");
    return this;
  }

  header(name: string): boolean {
    return this.#headers.has(name.toLowerCase());
  }

  /** @param path of a changed value, such as `$.items[2].price`. A value inside an ignored one is ignored, too */
  path(path: string): boolean {
    if (this.#paths.length === 0) return false;
    const keys = parseSteps(path)?.map(({ key }) => key ?? '') ?? [];
    return this.#paths.some((steps) => matches(steps, keys));
  }
}

const STEP = /(\.\.?)([A-Za-z_]\w*|\*)|(\.\.)?\[(?:(\d+|\*)|("(?:[^"\\]|\\.)*"))\]| \(\d+\)/y;

/** Returns undefined if the text is not a path. Ignores the ` (2)` of a name that an object has twice. */
const parseSteps = (text: string): readonly Step[] | undefined => {
  if (!text.startsWith('$')) return undefined;
  const steps: Step[] = [];
  for (let at = 1; at < text.length; at = STEP.lastIndex) {
    STEP.lastIndex = at;
    const found = STEP.exec(text);
    if (found === null) return undefined;
    const [, dots, name, deep, index, quoted] = found;
    const key = name ?? index ?? (quoted === undefined ? undefined : unquoted(quoted));
    if (key !== undefined)
      steps.push({ key: key === '*' && quoted === undefined ? undefined : key, isDeep: (dots ?? deep) === '..' });
  }
  return steps;
};

const unquoted = (text: string): string | undefined => {
  try {
    return String(JSON.parse(text));
  } catch {
    return undefined;
  }
};

/** Whether the steps match the first keys. The positions at which the earlier steps can end are tried together. */
const matches = (steps: readonly Step[], keys: readonly string[]): boolean => {
  let ends: readonly number[] = [0];
  for (const { key, isDeep } of steps) {
    const isMatch = (at: number): boolean => at < keys.length && (key === undefined || key === keys[at]);
    const [first = keys.length] = ends;
    const starts = isDeep ? Array.from({ length: keys.length - first }, (_, index) => first + index) : ends;
    ends = starts.filter(isMatch).map((at) => at + 1);
  }
  return ends.length > 0;
};
