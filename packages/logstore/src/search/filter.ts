import type { Action, Method, Outcome } from '@standin/contract';

/**
 * What a search asks for, as a tree. `parseFilter` makes it from text, `formatFilter` prints it, `compileFilter` turns it into
 * ClickHouse.
 *
 * Texts are Unicode; a byte that is no UTF-8 (`\xe9` in the text) is the lone surrogate U+DC80 + (byte − 0x80), as in Python's
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
  /** Anywhere in path, query, headers or bodies, of request or answer. */
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
      /** Status: the code, 0 for no answer. Duration: microseconds. Sizes: bytes. */
      readonly value: number;
    }
  /** Both ends belong to it. */
  | { readonly kind: 'range'; readonly field: NumberField; readonly from: number; readonly to: number };

/** Whether it takes headers or bodies to tell what fits: most of what is stored. */
export const readsContents = (filter: Filter): boolean => {
  if (filter.kind === 'and' || filter.kind === 'or') return filter.conditions.some(readsContents);
  if (filter.kind === 'not') return readsContents(filter.condition);
  return filter.kind === 'text' || filter.kind === 'header' || filter.kind === 'contains';
};

export type Side = 'request' | 'response';

/** The literal pieces between wildcards, which stand for any bytes: `/hooks/*` is `['/hooks/', '']`. One piece: equal to it. */
export type Pattern = readonly [string, ...string[]];

export type ContainsField = 'query' | 'body' | 'resp.body';
export type PatternField =
  'path' | 'endpoint' | 'project' | 'namespace' | 'account' | 'gateway' | 'key' | 'client' | 'upstream' | 'id';
export type NumberField = 'status' | 'dur' | 'size' | 'req.size' | 'resp.size';

export type Comparison = '=' | '>' | '>=' | '<' | '<=';

/** Bounds of one search: more is no question that a person asks, and costs the server. */
export const FILTER_LIMITS = {
  /** Characters. */
  textLengthMax: 2_000,
  /** Conditions without the AND, OR and NOT between them. */
  termsMax: 50,
  /** Parentheses and negations inside of each other. */
  depthMax: 20,
  /** Wildcards in one value. */
  wildcardsMax: 10,
} as const;
