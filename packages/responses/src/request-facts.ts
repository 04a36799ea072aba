import type { HeaderPair } from '@standin/contract';
import { parameterText, type PathParameters } from './parameter-value.ts';

/** The parts of a request that conditions can depend on. All text is latin1, as received. */
export interface ConditionInput {
  readonly headers: readonly HeaderPair[];
  /** The part of the target after the first `?`. */
  readonly query: string;
  readonly parameters: PathParameters;
}

/** In the order of the request. */
export type ValuesByName = ReadonlyMap<string, readonly string[]>;

const NONE: readonly string[] = [];

/** The header in which callers send the API key. Expressions and conditions never see it. */
const KEY_HEADER = 'x-api-key';

/** The values of a request by name. Each part of the request is read only once, when a condition needs it. */
export class RequestFacts {
  readonly #input: ConditionInput;
  #headers: ValuesByName | undefined;
  #query: ValuesByName | undefined;

  constructor(input: ConditionInput) {
    this.#input = input;
  }

  /** Decoded. The segments of a `{name...}` parameter are joined with slashes. */
  parameter(name: string): readonly string[] {
    const value = parameterText(this.#input.parameters, name);
    return value === undefined ? NONE : [value];
  }

  parameterNames(): readonly string[] {
    return [...this.#input.parameters.keys()];
  }

  /** @param name in lower case */
  header(name: string): readonly string[] {
    return this.headers().get(name) ?? NONE;
  }

  /** Names are in lower case. */
  headers(): ValuesByName {
    this.#headers ??= valuesByName(
      this.#input.headers
        .map(([key, value]) => [key.toLowerCase(), value] as const)
        .filter(([key]) => key !== KEY_HEADER),
    );
    return this.#headers;
  }

  query(name: string): readonly string[] {
    return this.queries().get(name) ?? NONE;
  }

  /** Decoded. Bytes that are not UTF-8 become replacement characters. */
  queries(): ValuesByName {
    this.#query ??= formValues(this.#input.query);
    return this.#query;
  }
}

/** Decodes `application/x-www-form-urlencoded` (latin1, as received). */
export const formValues = (text: string): ValuesByName => valuesByName(new URLSearchParams(`&${escapeBytes(text)}`));

/** HTTP allows the bytes of UTF-8 in a request target without escapes. */
const escapeBytes = (query: string): string =>
  query.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);

export const valuesByName = (pairs: Iterable<readonly [string, string]>): Map<string, string[]> => {
  const values = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return values;
};
