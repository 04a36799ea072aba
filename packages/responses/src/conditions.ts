import type { ResponseConfig, ValueCondition } from '@standin/contract';
import type { RequestFacts } from './request-facts.ts';

/** Returns whether a request meets all conditions of a response. */
export const meetsConditions = (
  facts: RequestFacts,
  { pathParams, headers, queryParams }: CompiledConditions,
): boolean =>
  pathParams.every((condition) => holds(condition, facts.parameter(condition.name))) &&
  headers.every((condition) => holds(condition, facts.header(condition.name))) &&
  queryParams.every((condition) => holds(condition, facts.query(condition.name)));

/** Conditions whose header names are in lower case. */
export type CompiledConditions = Pick<ResponseConfig, 'pathParams' | 'headers' | 'queryParams'>;

export const compileConditions = ({ pathParams, headers, queryParams }: CompiledConditions): CompiledConditions => ({
  pathParams,
  headers: headers.map((condition) => ({ ...condition, name: condition.name.toLowerCase() })),
  queryParams,
});

/** If there are several values, one that is the same is enough. */
const holds = ({ type, value }: ValueCondition, values: readonly string[]): boolean => {
  switch (type) {
    case 'Exact':
      return values.includes(value ?? '');
    case 'Present':
      return values.length > 0;
    case 'Absent':
      return values.length === 0;
  }
};
