import {
  formatFilter,
  parseFilter,
  type Condition,
  type Filter,
  type FilterProblem,
  type Term,
} from '@standin/exchange/search';
import type { TrafficRow } from '../requests/traffic-row.ts';

/** The columns of the list, in display order. The values of all columns except `time` can be used as a filter. */
export const CELL_FIELDS = ['time', 'method', 'status', 'path', 'duration', 'size', 'endpoint', 'id'] as const;
export type CellField = (typeof CELL_FIELDS)[number];

const same = (a: Condition, b: Condition): boolean => formatFilter(a) === formatFilter(b);
const negated = (condition: Condition): Condition =>
  condition.kind === 'not' ? condition.condition : { kind: 'not', condition };

const andedConditions = (filter: Filter): readonly Condition[] =>
  filter.kind === 'everything' ? [] : filter.kind === 'and' ? filter.conditions : [filter];

const combineWithAnd = (parts: readonly Condition[]): Filter => {
  const [first, ...rest] = parts;
  if (first === undefined) return { kind: 'everything' };
  return rest.length === 0 ? first : { kind: 'and', conditions: [first, ...rest] };
};

/** Returns the conditions that a search combines with AND, as text. Returns none if the search cannot be parsed. */
export const searchTerms = (q: string): readonly string[] => {
  const parsed = parseFilter(q);
  return parsed.kind === 'invalid' ? [] : andedConditions(parsed.filter).map((part) => formatFilter(part));
};

/** Adds a condition to a search and removes its opposite. Replaces a search that cannot be parsed. */
const withCondition = (q: string, condition: Condition): string => {
  const parsed = parseFilter(q);
  const parts = parsed.kind === 'invalid' ? [] : andedConditions(parsed.filter);
  const opposite = negated(condition);
  const kept = parts.filter((part) => !same(part, condition) && !same(part, opposite));
  return formatFilter(combineWithAnd([...kept, condition]));
};

/** Removes the condition at `index` from a search. Returns an empty search if it cannot be parsed. */
export const withoutTerm = (q: string, index: number): string => {
  const parsed = parseFilter(q);
  if (parsed.kind === 'invalid') return '';
  return formatFilter(combineWithAnd(andedConditions(parsed.filter).filter((_, at) => at !== index)));
};

/** Returns the search condition for a cell. Returns undefined for times, because the time range selects them. */
const cellTerm = (row: TrafficRow, field: CellField): Term | undefined => {
  switch (field) {
    case 'method':
      return { kind: 'method', method: row.method };
    case 'status':
      return { kind: 'compare', field: 'status', comparison: '=', value: row.status };
    case 'path':
      return { kind: 'matches', field: 'path', pattern: [row.path] };
    case 'endpoint':
      return { kind: 'matches', field: 'endpoint', pattern: [row.endpoint] };
    case 'id':
      return { kind: 'matches', field: 'id', pattern: [row.id] };
    case 'duration':
      return { kind: 'compare', field: 'dur', comparison: '>=', value: Math.round(row.durationMs * 1_000) };
    case 'size':
      return { kind: 'compare', field: 'size', comparison: '>=', value: row.bodyBytes };
    case 'time':
      return undefined;
  }
};

/**
 * Limits a search to the value of a cell, or excludes the value if `isOut` is true. For durations and sizes, the value is the
 * minimum.
 */
export const filterByCell = (q: string, row: TrafficRow, field: CellField, isOut: boolean): string => {
  const term = cellTerm(row, field);
  return term === undefined ? q : withCondition(q, isOut ? { kind: 'not', condition: term } : term);
};

export const findProblem = (q: string): FilterProblem | undefined => {
  const parsed = parseFilter(q);
  return parsed.kind === 'invalid' ? parsed.problem : undefined;
};
