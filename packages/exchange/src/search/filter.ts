import type { Action, Credential, RequestMethod, Outcome } from '@standin/contract';

/**
 * A search as a tree. `parseFilter` creates the tree from text, `formatFilter` prints it, and `compileFilter` compiles it for
 * ClickHouse.
 *
 * Strings are Unicode. A byte that is not UTF-8 (`\xe9` in the text) is the lone surrogate U+DC80 + (byte − 0x80), as in Python's
 * surrogateescape (PEP 383).
 */
export type Filter = Everything | Condition;

export interface Everything {
  readonly kind: 'everything';
}

export type Condition =
  | { readonly kind: 'and'; readonly conditions: Conditions }
  | { readonly kind: 'or'; readonly conditions: Conditions }
  | { readonly kind: 'not'; readonly condition: Condition }
  | Term;

export type Conditions = readonly [Condition, ...Condition[]];

export type Term =
  /** The text occurs anywhere in the path, query, headers or bodies of the request or response. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'contains'; readonly field: ContainsField; readonly text: string }
  | { readonly kind: 'matches'; readonly field: PatternField; readonly pattern: Pattern }
  /** One of the headers with this (lowercase) name has a value that matches. */
  | { readonly kind: 'header'; readonly side: Side; readonly name: string; readonly pattern: Pattern }
  | { readonly kind: 'method'; readonly method: RequestMethod }
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  | { readonly kind: 'action'; readonly action: Action }
  | { readonly kind: 'credential'; readonly credential: Credential }
  | {
      readonly kind: 'compare';
      readonly field: NumberField;
      readonly comparison: Comparison;
      /** A status code (0 means that there is no response), a duration in microseconds, or a size in bytes. */
      readonly value: number;
    }
  /** Both ends are inclusive. */
  | { readonly kind: 'range'; readonly field: NumberField; readonly from: number; readonly to: number };

/**
 * Returns whether a match can depend on headers or bodies, which make up most of the stored data. Also true for a search in the
 * query string.
 */
export const readsContents = (filter: Filter): boolean => {
  if (filter.kind === 'and' || filter.kind === 'or') return filter.conditions.some(readsContents);
  if (filter.kind === 'not') return readsContents(filter.condition);
  return filter.kind === 'text' || filter.kind === 'header' || filter.kind === 'contains';
};

export type Side = 'request' | 'response';

/**
 * The literal pieces between wildcards, which match any bytes: `/hooks/*` is `['/hooks/', '']`. A single piece is an exact match.
 */
export type Pattern = readonly [string, ...string[]];

export type ContainsField = 'query' | 'body' | 'resp.body';
export type PatternField =
  | 'path'
  | 'endpoint'
  | 'response'
  | 'project'
  | 'namespace'
  | 'account'
  | 'gateway'
  | 'key'
  | 'delivery'
  | 'client'
  | 'upstream'
  | 'id';
export type NumberField = 'status' | 'dur' | 'size' | 'req.size' | 'resp.size';

export type Comparison = '=' | '>' | '>=' | '<' | '<=';

/** Limits for one search. Users do not type larger searches, and larger searches would load the server. */
export const FILTER_LIMITS = {
  /** The maximum number of characters. */
  textLengthMax: 2_000,
  /** The maximum number of conditions, not counting the AND, OR and NOT between them. */
  termsMax: 50,
  /** The maximum depth of nested parentheses and negations. */
  depthMax: 20,
  /** The maximum number of wildcards in one value. */
  wildcardsMax: 10,
} as const;
