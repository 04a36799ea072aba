import type { ResponseConfig, ValueCondition } from '@standin/contract';
import type { RequestFacts } from './request-facts.ts';

/** The conditions of a response, as the configuration has them. */
export type ConditionsConfig = Pick<ResponseConfig, 'pathParams' | 'headers' | 'queryParams'>;

/** A condition on a value of the request. `on` is the field of `when` that contains the condition. */
export interface CompiledCondition extends ValueCondition {
  readonly on: keyof ConditionsConfig;
}

/** A condition that a request does not meet, and the values that the request has. */
export interface UnmetCondition {
  readonly condition: CompiledCondition;
  /** Empty if the request has no value. Text from headers is latin1, and all other text is decoded. */
  readonly seen: readonly string[];
}

export const compileConditions = ({ pathParams, headers, queryParams }: ConditionsConfig): CompiledCondition[] => [
  ...pathParams.map((condition) => ({ ...condition, on: 'pathParams' as const })),
  ...headers.map((condition) => ({ ...condition, on: 'headers' as const, name: condition.name.toLowerCase() })),
  ...queryParams.map((condition) => ({ ...condition, on: 'queryParams' as const })),
];

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
