import { celList, celMap, CelScalar, celUint, isCelList, isCelMap, isCelUint, type CelValue } from '@bufbuild/cel';
import { fromBinary } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { IncrementalTest, IncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import { getConformanceSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import { describe, expect, test } from 'vitest';
import { Budget } from '../budget.ts';
import { compileExpression, evaluate, type SyntaxTree } from './compile-expression.ts';
import { AbsentError, ExpressionError, ExpressionProblem } from './expression-error.ts';
import { RandomSequence } from './random-sequence.ts';

const MESSAGES = 'there are no messages and enums of protobuf';
const UNKNOWN = 'unknown variables and functions are reported before the first request';
const TYPES = 'types that are known to be wrong are reported before the first request';

/** The names of variables are complete: a container cannot stand before them. */
const NO_CONTAINER = 'namespace/namespace/self_eval_container_lookup';

/**
 * The beginnings of the names of cases that are refused before the first request, and why. `docs/reference/expressions.md` lists them. All other
 * cases have the result of the suite.
 */
const REFUSED: Readonly<Record<string, string>> = {
  bindings_ext: 'there is no cel.bind()',
  block_ext: 'there is no cel.block()',
  dynamic: MESSAGES,
  encoders_ext: 'of the extensions, there are only those for strings',
  enums: MESSAGES,
  macros2: 'there are no macros with two variables',
  math_ext: 'of the extensions, there are only those for strings',
  optionals: 'there are no optional values',
  proto2: MESSAGES,
  proto3: MESSAGES,
  wrappers: MESSAGES,
  'basic/functions/unbound_is_runtime_error': UNKNOWN,
  'basic/variables/unbound_is_runtime_error': UNKNOWN,
  'comparisons/eq_literal/eq_dyn_json_null': MESSAGES,
  'comparisons/eq_literal/not_eq_dyn_proto': MESSAGES,
  'comparisons/eq_wrapper': MESSAGES,
  'comparisons/ne_literal/ne_proto': MESSAGES,
  'fields/quoted_map_fields/': 'there are no field names in backticks',
  'logic/AND/short_circuit_type_': TYPES,
  'logic/OR/short_circuit_type_': TYPES,
  'parse/comments/': MESSAGES,
  'parse/nest/message_literal': MESSAGES,
  'parse/receiver_function_names/': UNKNOWN,
  'parse/repeat/message_literal': MESSAGES,
  'parse/repeat/select': MESSAGES,
  'parse/struct_field_names': MESSAGES,
  'parse/whitespace/': MESSAGES,
  'type_deductions/complex_initializers/struct': MESSAGES,
  'type_deductions/field_access/': MESSAGES,
  'type_deductions/flexible_type_parameter_assignment/': MESSAGES,
  'type_deductions/functions/': UNKNOWN,
  'type_deductions/legacy_nullable_types': MESSAGES,
  'type_deductions/type_parameters/': UNKNOWN,
};

interface Case extends Pick<IncrementalTest, 'original'> {
  readonly path: string;
}
type Value = Extract<IncrementalTest['original']['resultMatcher'], { case: 'value' }>['value'];

const suiteCases = (suite: IncrementalTestSuite, path = ''): Case[] => [
  ...suite.tests.map(({ original, name }) => ({ original, path: `${path}/${name}` })),
  ...suite.suites.flatMap((part) => suiteCases(part, path === '' ? part.name : `${path}/${part.name}`)),
];

const toCelValue = ({ kind }: Value): CelValue => {
  switch (kind.case) {
    case 'uint64Value':
      return celUint(kind.value);
    case 'nullValue':
      return null;
    case 'boolValue':
    case 'int64Value':
    case 'doubleValue':
    case 'stringValue':
    case 'bytesValue':
      return kind.value;
    case 'listValue':
      return celList(kind.value.values.map(toCelValue));
    case 'mapValue':
      return celMap(
        new Map(
          kind.value.entries.map(({ key, value }) => [
            (key === undefined ? null : toCelValue(key)) as string,
            value === undefined ? null : toCelValue(value),
          ]),
        ),
      );
    case 'objectValue':
      return toCelTime(kind.value);
    default:
      throw new NoSuchValue(kind.case);
  }
};

class NoSuchValue extends Error {}

/** Returns a time or a duration. Throws `NoSuchValue` for other messages. */
const toCelTime = ({ typeUrl, value }: { readonly typeUrl: string; readonly value: Uint8Array }): CelValue => {
  for (const schema of [TimestampSchema, DurationSchema])
    if (typeUrl.endsWith(`/${schema.typeName}`)) return reflect(schema, fromBinary(schema, value));
  throw new NoSuchValue(typeUrl);
};

const comparableText = (value: CelValue): string => {
  if (isCelUint(value)) return `${value.value}u`;
  if (isCelList(value)) return `[${[...value].map(comparableText).join()}]`;
  if (isCelMap(value))
    return `{${[...value]
      .map(([key, item]) => `${comparableText(key)}:${comparableText(item)}`)
      .toSorted()
      .join()}}`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (typeof value === 'number') return `double ${Object.is(value, -0) ? '-0' : value}`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (!('message' in value)) return `type ${value.name}`;
  const { seconds = 0n, nanos = 0 } = value.message as { seconds?: bigint; nanos?: number };
  return `${value.desc.typeName} ${seconds} ${nanos}`;
};

const expectedText = (value: Value): string => {
  const { kind } = value;
  if (kind.case === 'typeValue') return `type ${kind.value}`;
  return comparableText(toCelValue(value));
};

/** Returns the value as text, `error`, or `refused` if the error is reported before the first request. */
const resultText = ({ original: { expr, bindings, typeEnv } }: Case): string => {
  const names = [...typeEnv.map(({ name }) => name), ...Object.keys(bindings)];
  const variables = new Map(names.map((name) => [name, CelScalar.DYN]));
  try {
    const values = new Map(
      Object.entries(bindings).map(([name, { kind }]) => [name, kind.case === 'value' ? toCelValue(kind.value) : null]),
    );
    const tree: SyntaxTree = { encoded: undefined };
    compileExpression(expr, { variables, macrosMax: Infinity, tree });
    // From the encoded tree, as in a gateway that has compiled it before.
    const expression = compileExpression(expr, { variables, macrosMax: Infinity, tree });
    const value = evaluate(expression, {
      budget: new Budget(),
      written: undefined,
      random: new RandomSequence(''),
      variable: (name) => values.get(name) ?? (values.has(name) ? null : new AbsentError('absent')),
    });
    return value instanceof ExpressionError ? `error` : comparableText(value);
  } catch (error) {
    if (error instanceof ExpressionProblem || error instanceof NoSuchValue) return 'refused';
    throw error;
  }
};

const expectsValue = ({ original: { resultMatcher } }: Case): boolean =>
  [undefined, 'value', 'typedResult'].includes(resultMatcher.case);

/** Returns the value that the suite expects as text, or undefined if any value is correct. */
const expectedResult = ({ original: { resultMatcher: matcher } }: Case): string | undefined => {
  switch (matcher.case) {
    case 'value':
      return expectedText(matcher.value);
    case 'typedResult':
      return matcher.value.result === undefined ? undefined : expectedText(matcher.value.result);
    default:
      return 'true';
  }
};

const beginsWith = ({ path }: Case, name: string): boolean => path.startsWith(name);

const mayBeRefused = (one: Case): boolean => Object.keys(REFUSED).some((name) => beginsWith(one, name));
const cases = suiteCases(getConformanceSuite());

describe('the conformance suite of CEL', () => {
  test.each(cases)('$path', (one) => {
    const result = resultText(one);
    if (!expectsValue(one)) expect(['error', 'refused']).toContain(result);
    else if (result === 'refused') expect(one.path).toSatisfy(() => mayBeRefused(one));
    else if (beginsWith(one, NO_CONTAINER)) expect(result).not.toBe(expectedResult(one));
    else expect(result).toBe(expectedResult(one) ?? result);
  });

  test('has cases that are refused for each reason', () => {
    const refused = cases.filter((one) => resultText(one) === 'refused' && expectsValue(one));
    expect(Object.keys(REFUSED).filter((name) => !refused.some((one) => beginsWith(one, name)))).toEqual([]);
    expect(cases.length).toBeGreaterThan(2_300);
  });
});
