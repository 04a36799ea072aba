import { LIMITS, type ResponseConfig, type ValueCondition } from '@standin/contract';
import { parseRegularExpression, type RegularExpression } from './regular-expression.ts';
import { CelCondition } from './cel-condition.ts';
import type { RequestExpressions } from './request-expressions.ts';
import type { RequestFacts } from './request-facts.ts';

/** The conditions of a response, as the configuration has them. */
export type ConditionsConfig = Pick<ResponseConfig, 'pathParams' | 'headers' | 'queryParams' | 'cel'>;

/** A condition on a value of the request. `on` is the field of `when` that contains the condition. */
export interface CompiledValueCondition extends ValueCondition {
  readonly on: Exclude<keyof ConditionsConfig, 'cel'>;
  /** Set only for `RegularExpression`. */
  readonly expression?: RegularExpression;
}

export type CompiledCondition = CompiledValueCondition | CelCondition;

/** A condition that a request does not meet. */
export type UnmetCondition =
  | {
      readonly condition: CompiledValueCondition;
      /** Empty if the request has no value. Text from headers is latin1, and all other text is decoded. */
      readonly seen: readonly string[];
    }
  | {
      readonly condition: CelCondition;
      /** Why the expression has no value, as a phrase without a full stop. Absent if its value is false. */
      readonly error: string | undefined;
    };

/** Throws an error with a readable message if a regular expression is not valid. */
export const compileConditions = ({ pathParams, headers, queryParams, cel }: ConditionsConfig): CompiledCondition[] => [
  ...pathParams.map((condition) => compileCondition({ ...condition, on: 'pathParams' })),
  ...headers.map((condition) => compileCondition({ ...condition, on: 'headers', name: condition.name.toLowerCase() })),
  ...queryParams.map((condition) => compileCondition({ ...condition, on: 'queryParams' })),
  // The last one, because it takes the longest.
  ...(cel === undefined ? [] : [new CelCondition(cel)]),
];

const compileCondition = (condition: CompiledValueCondition): CompiledValueCondition => {
  if (condition.type !== 'RegularExpression') return condition;
  const parsed = parseRegularExpression(condition.value ?? '');
  if (!parsed.ok) throw new Error(`the value of the condition on ${condition.name} ${parsed.message}`);
  return { ...condition, expression: parsed.expression };
};

/** Returns whether a request meets all conditions of a response. */
export const meetsConditions = (request: RequestExpressions, conditions: readonly CompiledCondition[]): boolean =>
  conditions.every((condition) => unmetCondition(request, condition) === undefined);

/**
 * Returns the conditions that a request does not meet, in order. There are none exactly if `meetsConditions` returns true. An expression is
 * evaluated only if the request meets all other conditions, as `meetsConditions` does.
 */
export const unmetConditions = (
  request: RequestExpressions,
  conditions: readonly CompiledCondition[],
): UnmetCondition[] => {
  const unmet: UnmetCondition[] = [];
  for (const condition of conditions) {
    const found = condition.on === 'cel' && unmet.length > 0 ? undefined : unmetCondition(request, condition);
    if (found !== undefined) unmet.push(found);
  }
  return unmet;
};

const unmetCondition = (request: RequestExpressions, condition: CompiledCondition): UnmetCondition | undefined => {
  if (condition.on === 'cel') return condition.unmet(request);
  const seen = valuesOf(request.facts, condition);
  return holds(condition, seen) ? undefined : { condition, seen };
};

const valuesOf = (facts: RequestFacts, { on, name }: CompiledValueCondition): readonly string[] => {
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
const holds = ({ type, value, expression }: CompiledValueCondition, values: readonly string[]): boolean => {
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
