import { LIMITS, type ResponseConfig, type ValueCondition } from '@standin/contract';
import { parseRegularExpression, type RegularExpression } from './regular-expression.ts';
import type { RequestFacts } from './request-facts.ts';

/** Returns whether a request meets all conditions of a response. */
export const meetsConditions = (
  facts: RequestFacts,
  { pathParams, headers, queryParams }: CompiledConditions,
): boolean =>
  pathParams.every((condition) => holds(condition, facts.parameter(condition.name))) &&
  headers.every((condition) => holds(condition, facts.header(condition.name))) &&
  queryParams.every((condition) => holds(condition, facts.query(condition.name)));

interface CompiledCondition extends ValueCondition {
  /** Set only for `RegularExpression`. */
  readonly expression?: RegularExpression;
}

type Conditions = Pick<ResponseConfig, 'pathParams' | 'headers' | 'queryParams'>;

/** Conditions whose header names are in lower case. */
export type CompiledConditions = Readonly<Record<keyof Conditions, readonly CompiledCondition[]>>;

/** Throws an error with a readable message if a regular expression is not valid. */
export const compileConditions = ({ pathParams, headers, queryParams }: Conditions): CompiledConditions => ({
  pathParams: pathParams.map(compileCondition),
  headers: headers.map((condition) => compileCondition({ ...condition, name: condition.name.toLowerCase() })),
  queryParams: queryParams.map(compileCondition),
});

const compileCondition = (condition: ValueCondition): CompiledCondition => {
  if (condition.type !== 'RegularExpression') return condition;
  const parsed = parseRegularExpression(condition.value ?? '');
  if (!parsed.ok) throw new Error(`the value of the condition on ${condition.name} ${parsed.message}`);
  return { ...condition, expression: parsed.expression };
};

/** If there are several values, one that is the same, or that matches, is enough. */
const holds = ({ type, value, expression }: CompiledCondition, values: readonly string[]): boolean => {
  switch (type) {
    case 'Exact':
      return values.includes(value ?? '');
    case 'RegularExpression':
      return areMatchable(values) && values.some((one) => expression?.automaton.matches(one));
    case 'Present':
      return values.length > 0;
    case 'Absent':
      return values.length === 0;
  }
};

/** Returns whether values are short enough to be compared with a regular expression. */
const areMatchable = (values: readonly string[]): boolean =>
  values.reduce((sum, { length }) => sum + length, 0) <= LIMITS.matchedValuesLengthMax;
