import { listText, printable, printableJson } from '@standin/contract';
import { OUT_OF_BUDGET, type ExpressionError } from './cel/expression-error.ts';
import type { CompiledValueCondition } from './conditions.ts';

interface Described extends CompiledValueCondition {
  readonly seen: readonly string[];
  readonly seenCount: number;
  /** See `UnmetCondition`. */
  readonly isOutOfBudget: boolean;
}

const WHAT = { pathParams: 'path parameter', headers: 'header', queryParams: 'query parameter' } as const;

/**
 * Describes a condition that a request does not meet. Returns sentences such as `The header x-plan is "free". It must be "gold".` Control
 * characters of values are escaped.
 *
 * @param seen the first of `seenCount` values of the request
 */
export const describeUnmet = ({ on, name, type, value, seen, seenCount, isOutOfBudget }: Described): string => {
  const what = `The ${WHAT[on]} ${name}`;
  if (isOutOfBudget) return `${what} was not compared: ${OUT_OF_BUDGET.message}.`;
  const more = seenCount > seen.length ? [`${seenCount - seen.length} more`] : [];
  const values = listText([...seen.map(quoted), ...more]);
  const isMany = seenCount > 1;
  const state = seenCount === 0 ? 'is missing' : isMany ? `has the values ${values}` : `is ${values}`;
  const subject = isMany ? 'One of them' : 'It';
  switch (type) {
    case 'Exact':
      return `${what} ${state}. ${subject} must be ${quoted(value ?? '')}.`;
    case 'RegularExpression':
      return `${what} ${state}. ${subject} must match ${quoted(value ?? '')}.`;
    case 'Present':
      return `${what} ${state}.`;
    case 'Absent':
      return `${what} ${state}. It must be absent.`;
  }
};

const quoted = (text: string): string => printableJson(JSON.stringify(text));

/**
 * Describes a draw that a request does not meet.
 *
 * @param key undefined if the request draws by itself
 * @param drawn the number, or why there is no key, as a phrase without a full stop
 */
export const describeDraw = (percent: number, key: string | undefined, drawn: number | ExpressionError): string => {
  if (typeof drawn !== 'number') return `The draw has no key: ${printable(drawn.message)}.`;
  const whose = key === undefined ? 'request' : `key ${quoted(key)}`;
  return `The ${whose} draws ${drawn}. It must draw less than ${percent}.`;
};

/** Describes an expression that is not true. `error` is a phrase without a full stop. */
export const describeExpression = (source: string, error: string | undefined): string =>
  error === undefined
    ? `The expression ${quoted(source)} is false.`
    : `The expression ${quoted(source)} has no value: ${printable(error)}.`;
