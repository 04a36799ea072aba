import { CONTAINS_COLUMNS, HEADER_COLUMNS, NUMBER_COLUMNS, PATTERN_COLUMNS, TEXT_COLUMNS } from './columns.ts';
import type { Column } from './columns.ts';
import type { Condition, Filter, Pattern, Term } from '@standin/exchange/search';
import { filterLatin1Bytes, filterUtf8Bytes, lowerAscii } from '@standin/exchange/search';

/** One condition in a WHERE clause. */
interface CompiledCondition {
  readonly sql: string;
  /** See `Column`. */
  readonly frozen: boolean;
}

export interface CompiledFilter {
  /** The conditions, all of which must be true. */
  readonly conditions: readonly CompiledCondition[];
  readonly params: Readonly<Record<string, string | number>>;
}

/**
 * Compiles a search to ClickHouse conditions on the `log` table. The SQL consists only of constant expressions (see columns.ts).
 * Every value is a parameter. Strings that can contain any bytes are sent as hexadecimal.
 */
export const compileFilter = (filter: Filter): CompiledFilter => {
  if (filter.kind === 'everything') return { conditions: [], params: {} };
  const params = new Params();
  const parts = filter.kind === 'and' ? filter.conditions : ([filter] as const);
  return { conditions: parts.map((part) => compileCondition(part, params)), params: params.values };
};

class Params {
  readonly values: Record<string, string | number> = {};

  #add(value: string | number, type: string): string {
    const name = `search${Object.keys(this.values).length}` as const;
    this.values[name] = value;
    return `{${name}:${type}}`;
  }

  bytes(value: Uint8Array): string {
    const hex = Array.from(value, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return `unhex(${this.#add(hex, 'String')})`;
  }

  text(value: string): string {
    return this.#add(value, 'String');
  }

  uuid(value: string): string {
    return this.#add(value, 'UUID');
  }

  number(value: number): string {
    return this.#add(value, 'UInt64');
  }
}

const both = (parts: readonly CompiledCondition[], word: 'AND' | 'OR'): CompiledCondition => ({
  sql: `(${parts.map(({ sql }) => sql).join(` ${word} `)})`,
  frozen: parts.every(({ frozen }) => frozen),
});

const compileCondition = (condition: Condition, params: Params): CompiledCondition => {
  switch (condition.kind) {
    case 'and':
    case 'or': {
      const parts = condition.conditions.map((part) => compileCondition(part, params));
      return both(parts, condition.kind === 'and' ? 'AND' : 'OR');
    }
    case 'not': {
      const { sql, frozen } = compileCondition(condition.condition, params);
      return { sql: `NOT ${sql}`, frozen };
    }
    default:
      return compileTerm(condition, params);
  }
};

const compileTerm = (term: Term, params: Params): CompiledCondition => {
  switch (term.kind) {
    case 'text':
      return both(
        TEXT_COLUMNS.map((column) => contains(column, term.text, params)),
        'OR',
      );
    case 'contains':
      return contains(CONTAINS_COLUMNS[term.field], term.text, params);
    case 'matches':
      return matches(term, params);
    case 'header':
      return header(term, params);
    case 'method':
      return { sql: `(method = ${params.text(term.method)})`, frozen: true };
    case 'outcome':
      return { sql: `(outcome = ${params.text(term.outcome)})`, frozen: false };
    case 'action':
      return { sql: `(action = ${params.text(term.action)})`, frozen: true };
    case 'credential':
      return { sql: `(credential = ${params.text(term.credential)})`, frozen: true };
    case 'compare':
    case 'range':
      return number(term, params);
  }
};

/** Returns the byte strings that a search text can mean in a column, without duplicates. */
const meanings = (text: string, latin1: boolean): Uint8Array[] => {
  const utf8 = filterUtf8Bytes(text);
  const bytes = latin1 ? filterLatin1Bytes(text) : undefined;
  const same = bytes?.length === utf8.length && bytes.every((byte, index) => byte === utf8[index]);
  return bytes === undefined || same ? [utf8] : [utf8, bytes];
};

const PERCENT = 0x25;
const BACKSLASH = 0x5c;
const UNDERSCORE = 0x5f;

/** Returns a LIKE pattern in bytes. Only the gaps between the pieces are wildcards. */
const likePattern = (pieces: readonly Uint8Array[]): Uint8Array => {
  const special = [PERCENT, BACKSLASH, UNDERSCORE];
  const bytes = pieces.flatMap((piece, index) => [
    ...(index === 0 ? [] : [PERCENT]),
    ...Array.from(piece).flatMap((byte) => (special.includes(byte) ? [BACKSLASH, byte] : [byte])),
  ]);
  return Uint8Array.from(bytes);
};

const empty = new Uint8Array();

const contains = ({ sql, frozen, latin1 = false }: Column, text: string, params: Params): CompiledCondition => {
  const likes = meanings(lowerAscii(text), latin1).map(
    (bytes) => `${sql} LIKE ${params.bytes(likePattern([empty, bytes, empty]))}`,
  );
  return { sql: `(${likes.join(' OR ')})`, frozen };
};

/** Returns the condition that a value matches the pattern in one of its meanings (see `meanings`). */
const valueMatches = (sql: string, pattern: Pattern, latin1: boolean, params: Params): string => {
  if (pattern.length === 1) {
    return `(${meanings(pattern[0], latin1)
      .map((bytes) => `${sql} = ${params.bytes(bytes)}`)
      .join(' OR ')})`;
  }
  const utf8 = likePattern(pattern.map(filterUtf8Bytes));
  const bytes = latin1 ? pattern.map((piece) => filterLatin1Bytes(piece) ?? filterUtf8Bytes(piece)) : undefined;
  const hasOther = latin1 && pattern.some((piece) => filterLatin1Bytes(piece) !== undefined);
  const patterns = [utf8, ...(hasOther && bytes !== undefined ? [likePattern(bytes)] : [])];
  return `(${patterns.map((pieces) => `${sql} LIKE ${params.bytes(pieces)}`).join(' OR ')})`;
};

const matches = ({ field, pattern }: Extract<Term, { kind: 'matches' }>, params: Params): CompiledCondition => {
  // Uses the column itself rather than its text, because the column has an index.
  if (field === 'id' && pattern.length === 1) return { sql: `(id = ${params.uuid(pattern[0])})`, frozen: true };
  const { sql, frozen, latin1 = false } = PATTERN_COLUMNS[field];
  return { sql: valueMatches(sql, pattern, latin1, params), frozen };
};

const header = ({ side, name, pattern }: Extract<Term, { kind: 'header' }>, params: Params): CompiledCondition => {
  const { names, values, map, frozen } = HEADER_COLUMNS[side];
  const named = (): string => `mapContains(${map}, ${params.text(name)})`;
  if (pattern.length === 2 && pattern.every((piece) => piece === '')) return { sql: `(${named()})`, frozen };
  // Only the pairs connect names with values. The conditions before them skip rows quickly.
  const quick =
    pattern.length > 1
      ? named()
      : `(${meanings(pattern[0], true)
          .map((bytes) => `has(${values}, ${params.bytes(bytes)})`)
          .join(' OR ')})`;
  const isNamed = `lower(n) = ${params.text(name)}`;
  const pair = `arrayExists((n, v) -> ${isNamed} AND ${valueMatches('v', pattern, true, params)}, ${names}, ${values})`;
  return { sql: `(${quick} AND ${pair})`, frozen };
};

/** Returns the condition on a number. `status:<N` does not match 0, which means that there is no response. */
const number = (term: Extract<Term, { kind: 'compare' | 'range' }>, params: Params): CompiledCondition => {
  const { sql, frozen } = NUMBER_COLUMNS[term.field];
  if (term.kind === 'range') {
    return { sql: `(${sql} BETWEEN ${params.number(term.from)} AND ${params.number(term.to)})`, frozen };
  }
  const isStatusBelow = term.field === 'status' && term.comparison.startsWith('<');
  const answered = isStatusBelow ? ` AND ${sql} > 0` : '';
  return { sql: `(${sql} ${term.comparison} ${params.number(term.value)}${answered})`, frozen };
};
