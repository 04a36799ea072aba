import { LIMITS, type ResponseConfig, type ValueCondition } from '@standin/contract';
import { parseRegularExpression, type RegularExpression } from './regular-expression.ts';
import type { RequestFacts } from './request-facts.ts';

/** The conditions of a response, as the configuration has them. */
export type ConditionsConfig = Pick<ResponseConfig, 'pathParams' | 'headers' | 'queryParams'>;

/** A condition on a value of the request. `on` is the field of `when` that contains the condition. */
export interface CompiledCondition extends ValueCondition {
  readonly on: keyof ConditionsConfig;
  /** Set only for `RegularExpression`. */
  readonly expression?: RegularExpression;
}

/** A condition that a request does not meet, and the values that the request has. */
export interface UnmetCondition {
  readonly condition: CompiledCondition;
  /** Empty if the request has no value. Text from headers is latin1, and all other text is decoded. */
  readonly seen: readonly string[];
}

/** Throws an error with a readable message if a regular expression is not valid. */
export const compileConditions = ({ pathParams, headers, queryParams }: ConditionsConfig): CompiledCondition[] => [
  ...pathParams.map((condition) => compileCondition({ ...condition, on: 'pathParams' })),
  ...headers.map((condition) => compileCondition({ ...condition, on: 'headers', name: condition.name.toLowerCase() })),
  ...queryParams.map((condition) => compileCondition({ ...condition, on: 'queryParams' })),
];

const compileCondition = (condition: CompiledCondition): CompiledCondition => {
  if (condition.type !== 'RegularExpression') return condition;
  const parsed = parseRegularExpression(condition.value ?? '');
  if (!parsed.ok) throw new Error(`the value of the condition on ${condition.name} ${parsed.message}`);
  return { ...condition, expression: parsed.expression };
};

/** Returns whether a request meets all conditions of a response. */
export const meetsConditions = (facts: RequestFacts, conditions: readonly CompiledCondition[]): boolean =>
  conditions.every((condition) => unmetCondition(facts, condition) === undefined);

/** Returns all conditions that a request does not meet, in order. There are none exactly if `meetsConditions` returns true. */
export const unmetConditions = (facts: RequestFacts, conditions: readonly CompiledCondition[]): UnmetCondition[] =>
  conditions.flatMap((condition) => unmetCondition(facts, condition) ?? []);

const unmetCondition = (facts: RequestFacts, condition: CompiledCondition): UnmetCondition | undefined => {
  const seen = valuesOf(facts, condition);
  return holds(condition, seen) ? undefined : { condition, seen };
};

const valuesOf = (facts: RequestFacts, { on, name }: CompiledCondition): readonly string[] => {
  switch (on) {
    case 'pathParams':
      return facts.parameter(name);
    case 'headers':
      return facts.header(name);
    case 'queryParams':
      return facts.query(name);
  }
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
export const areMatchable = (values: readonly string[]): boolean =>
  values.reduce((sum, { length }) => sum + length, 0) <= LIMITS.matchedValuesLengthMax;
