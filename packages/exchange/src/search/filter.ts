import type { Action, Method, Outcome } from '@standin/contract';

/**
 * A search as a tree. `parseFilter` creates it from text, `formatFilter` prints it, `compileFilter` compiles it for ClickHouse.
 *
 * Texts are Unicode. A byte that is not UTF-8 (`\xe9` in the text) is the lone surrogate U+DC80 + (byte − 0x80), as in Python's
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
  /** Anywhere in path, query, headers or bodies, of request or response. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'contains'; readonly field: ContainsField; readonly text: string }
  | { readonly kind: 'matches'; readonly field: PatternField; readonly pattern: Pattern }
  /** One of the headers with this (lower-case) name has a value that matches. */
  | { readonly kind: 'header'; readonly side: Side; readonly name: string; readonly pattern: Pattern }
  | { readonly kind: 'method'; readonly method: Method }
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  | { readonly kind: 'action'; readonly action: Action }
  | {
      readonly kind: 'compare';
      readonly field: NumberField;
      readonly comparison: Comparison;
      /** Status: the code, 0 for no response. Duration: microseconds. Sizes: bytes. */
      readonly value: number;
    }
  /** Both ends are inclusive. */
  | { readonly kind: 'range'; readonly field: NumberField; readonly from: number; readonly to: number };

/** Whether a match depends on headers or bodies, which are most of the stored data. */
export const readsContents = (filter: Filter): boolean => {
  if (filter.kind === 'and' || filter.kind === 'or') return filter.conditions.some(readsContents);
  if (filter.kind === 'not') return readsContents(filter.condition);
  return filter.kind === 'text' || filter.kind === 'header' || filter.kind === 'contains';
};

export type Side = 'request' | 'response';

/** The literal pieces between wildcards, which match any bytes: `/hooks/*` is `['/hooks/', '']`. One piece: an exact match. */
export type Pattern = readonly [string, ...string[]];

export type ContainsField = 'query' | 'body' | 'resp.body';
export type PatternField =
  'path' | 'endpoint' | 'project' | 'namespace' | 'account' | 'gateway' | 'key' | 'client' | 'upstream' | 'id';
export type NumberField = 'status' | 'dur' | 'size' | 'req.size' | 'resp.size';

export type Comparison = '=' | '>' | '>=' | '<' | '<=';

/** Limits of one search. Larger searches are not typed by users, and load the server. */
export const FILTER_LIMITS = {
  /** Characters. */
  textLengthMax: 2_000,
  /** Conditions without the AND, OR and NOT between them. */
  termsMax: 50,
  /** Nested parentheses and negations. */
  depthMax: 20,
  /** Wildcards in one value. */
  wildcardsMax: 10,
} as const;
