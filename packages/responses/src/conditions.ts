import type { ResponseConfig, ValueCondition } from '@standin/contract';
import { parseRegularExpression, type RegularExpression } from './regular-expression.ts';
import { Budget, BudgetExhausted } from './budget.ts';
import { CelCondition } from './cel-condition.ts';
import { DrawCondition, type UnmetDraw } from './draw-condition.ts';
import type { LazyExpression } from './lazy-expression.ts';
import type { RequestExpressions } from './request-expressions.ts';
import type { RequestFacts } from './request-facts.ts';

/** The conditions of a response, as the configuration has them. */
export type ConditionsConfig = Pick<ResponseConfig, 'pathParams' | 'headers' | 'queryParams' | 'draw' | 'cel'>;

/** A condition on a value of the request. `on` is the field of `when` that contains the condition. */
export interface CompiledValueCondition extends ValueCondition {
  readonly on: Exclude<keyof ConditionsConfig, 'draw' | 'cel'>;
  /** Set only for `RegularExpression`. */
  readonly expression?: RegularExpression;
}

export type CompiledCondition = CompiledValueCondition | DrawCondition | CelCondition;

/** A condition that a request does not meet. */
export type UnmetCondition =
  | {
      readonly condition: CompiledValueCondition;
      /** Empty if the request has no value. Text from headers is latin1, and all other text is decoded. */
      readonly seen: readonly string[];
      /** Whether the budget of the request was exhausted, so that the values were not compared. */
      readonly isOutOfBudget: boolean;
    }
  | UnmetDraw
  | {
      readonly condition: CelCondition;
      /** Why the expression has no value, as a phrase without a full stop. Absent if its value is false. */
      readonly error: string | undefined;
    };

/** Throws an error with a readable message if a regular expression is not valid. */
export const compileConditions = ({
  pathParams,
  headers,
  queryParams,
  draw,
  cel,
}: ConditionsConfig): CompiledCondition[] => [
  ...pathParams.map((condition) => compileCondition({ ...condition, on: 'pathParams' })),
  ...headers.map((condition) => compileCondition({ ...condition, on: 'headers', name: condition.name.toLowerCase() })),
  ...queryParams.map((condition) => compileCondition({ ...condition, on: 'queryParams' })),
  // Last, because they take the longest.
  ...(draw === undefined ? [] : [new DrawCondition(draw)]),
  ...(cel === undefined ? [] : [new CelCondition(cel)]),
];

const compileCondition = (condition: CompiledValueCondition): CompiledValueCondition => {
  if (condition.type !== 'RegularExpression') return condition;
  const parsed = parseRegularExpression(condition.value ?? '');
  if (!parsed.ok) throw new Error(`the value of the condition on ${condition.name} ${parsed.message}`);
  return { ...condition, expression: parsed.expression };
};

/** Returns the expressions in conditions. */
export const expressionsInConditions = (conditions: readonly CompiledCondition[]): readonly LazyExpression[] =>
  conditions.flatMap((condition) => {
    switch (condition.on) {
      case 'cel':
        return [condition];
      case 'draw':
        return condition.key ?? [];
      default:
        return [];
    }
  });

/** Returns whether a request meets all conditions of a response. A condition for which the budget is exhausted is not met. */
export const meetsConditions = (request: RequestExpressions, conditions: readonly CompiledCondition[]): boolean =>
  conditions.every((condition) => unmetCondition(request, condition, request.budget) === undefined);

/**
 * Returns the conditions that a request does not meet, in order. The result is empty if and only if `meetsConditions` returns true. A draw and an
 * expression are evaluated only if the request meets all conditions before them, as `meetsConditions` does.
 *
 * @param spare the budget for conditions that `meetsConditions` does not reach. Charging the request's would change the responses to it.
 */
export const unmetConditions = (
  request: RequestExpressions,
  conditions: readonly CompiledCondition[],
  spare = new Budget(),
): UnmetCondition[] => {
  const unmet: UnmetCondition[] = [];
  for (const condition of conditions) {
    if (isEvaluated(condition) && unmet.length > 0) continue;
    const found = unmetCondition(request, condition, unmet.length > 0 ? spare : request.budget);
    if (found !== undefined) unmet.push(found);
  }
  return unmet;
};

const isEvaluated = (condition: CompiledCondition): condition is DrawCondition | CelCondition =>
  condition.on === 'draw' || condition.on === 'cel';

const unmetCondition = (
  request: RequestExpressions,
  condition: CompiledCondition,
  budget: Budget,
): UnmetCondition | undefined => {
  if (isEvaluated(condition)) return condition.unmet(request);
  const seen = seenValues(request.facts, condition);
  try {
    return holds(condition, seen, budget) ? undefined : { condition, seen, isOutOfBudget: false };
  } catch (error) {
    if (error instanceof BudgetExhausted) return { condition, seen, isOutOfBudget: true };
    throw error;
  }
};

const seenValues = (facts: RequestFacts, { on, name }: CompiledValueCondition): readonly string[] => {
  switch (on) {
    case 'pathParams':
      return facts.parameter(name);
    case 'headers':
      return facts.header(name);
    case 'queryParams':
      return facts.query(name);
  }
};

/** If there are several values, one value that is equal or matches is enough. Only regular expressions charge the budget. */
const holds = (
  { type, value, expression }: CompiledValueCondition,
  values: readonly string[],
  budget: Budget,
): boolean => {
  switch (type) {
    case 'Exact':
      return values.includes(value ?? '');
    case 'RegularExpression':
      budget.charge(values.length);
      return values.some((one) => expression?.automaton.matches(one, budget));
    case 'Present':
      return values.length > 0;
    case 'Absent':
      return values.length === 0;
  }
};
