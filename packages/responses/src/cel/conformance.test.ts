import { celList, celMap, CelScalar, celUint, isCelList, isCelMap, isCelUint, type CelValue } from '@bufbuild/cel';
import type { IncrementalTest, IncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import { getConformanceSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import { describe, expect, test } from 'vitest';
import { Budget } from '../budget.ts';
import { compileExpression, evaluate } from './compile-expression.ts';
import { ExpressionError, ExpressionProblem } from './expression-error.ts';
import { RandomSequence } from './random-sequence.ts';

const MESSAGES = 'messages of protobuf are not offered';
const UNKNOWN = 'unknown variables and functions are compile errors, not errors for a request';
const TYPES = 'types that are known to be wrong are compile errors, not errors for a request';

/** Sections of the suite that test what is not offered, and why. */
const EXCLUDED_SECTIONS: Readonly<Record<string, string>> = {
  bindings_ext: 'cel.bind() is not offered',
  block_ext: 'cel.block() is not offered',
  dynamic: MESSAGES,
  encoders_ext: 'only the string extensions are offered',
  enums: MESSAGES,
  macros2: 'macros with two variables are not offered',
  math_ext: 'only the string extensions are offered',
  namespace: 'there is no container',
  optionals: 'optional values are not offered',
  proto2: MESSAGES,
  proto2_ext: MESSAGES,
  proto3: MESSAGES,
  wrappers: MESSAGES,
  'comparisons/eq_wrapper': MESSAGES,
  'parse/struct_field_names': MESSAGES,
  'type_deductions/flexible_type_parameter_assignment': TYPES,
  'type_deductions/legacy_nullable_types': MESSAGES,
  'type_deductions/wrappers': MESSAGES,
};

/** The beginnings of the names of other cases that fail, and why. */
const EXCLUDED_CASES: Readonly<Record<string, string>> = {
  'basic/functions/unbound_is_runtime_error': UNKNOWN,
  'basic/variables/unbound_is_runtime_error': UNKNOWN,
  'comparisons/eq_literal/eq_dyn_json_null': MESSAGES,
  'comparisons/eq_literal/not_eq_dyn_proto': MESSAGES,
  'comparisons/ne_literal/ne_proto': MESSAGES,
  'fields/quoted_map_fields/': "the library's parser has no quoted names",
  'logic/AND/short_circuit_type_': TYPES,
  'logic/OR/short_circuit_type_': TYPES,
  'parse/comments/': MESSAGES,
  'parse/nest/message_literal': MESSAGES,
  'parse/receiver_function_names/': UNKNOWN,
  'parse/repeat/message_literal': MESSAGES,
  'parse/repeat/select': MESSAGES,
  'parse/whitespace/': MESSAGES,
  'timestamps/duration_converters/get_milliseconds': MESSAGES,
  'type_deductions/complex_initializers/struct': MESSAGES,
  'type_deductions/field_access/': MESSAGES,
};

interface Case extends Pick<IncrementalTest, 'original'> {
  readonly path: string;
}
type Value = Extract<IncrementalTest['original']['resultMatcher'], { case: 'value' }>['value'];

const casesOf = (suite: IncrementalTestSuite, path = ''): Case[] => [
  ...suite.tests.map(({ original, name }) => ({ original, path: `${path}/${name}` })),
  ...suite.suites.flatMap((part) => casesOf(part, path === '' ? part.name : `${path}/${part.name}`)),
];

const celOf = ({ kind }: Value): CelValue => {
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
      return celList(kind.value.values.map(celOf));
    case 'mapValue':
      return celMap(
        new Map(
          kind.value.entries.map(({ key, value }) => [
            (key === undefined ? null : celOf(key)) as string,
            value === undefined ? null : celOf(value),
          ]),
        ),
      );
    default:
      return null;
  }
};

/** Returns the integers in the fields of a protobuf message. */
const integersIn = (bytes: Uint8Array): bigint[] => {
  const values: bigint[] = [];
  for (let at = 0; at < bytes.length;) {
    const field = (bytes[at++] ?? 0) >> 3;
    let value = 0n;
    let shift = 0n;
    for (let more = true; more; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      more = byte > 0x7f;
    }
    values[field - 1] = BigInt.asIntN(64, value);
  }
  return [values[0] ?? 0n, values[1] ?? 0n];
};

/** Returns text that is the same for the same values. */
const textOf = (value: CelValue): string => {
  if (isCelUint(value)) return `${value.value}u`;
  if (isCelList(value)) return `[${[...value].map(textOf).join()}]`;
  if (isCelMap(value))
    return `{${[...value]
      .map(([key, item]) => `${textOf(key)}:${textOf(item)}`)
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
  if (kind.case !== 'objectValue') return textOf(celOf(value));
  const [seconds, nanos] = integersIn(kind.value.value);
  return `${kind.value.typeUrl.replace(/^.*\//, '')} ${seconds ?? 0n} ${nanos ?? 0n}`;
};

/** Returns the value as text, or `error`. */
const resultOf = ({ original: { expr, bindings, typeEnv } }: Case): string => {
  const names = [...typeEnv.map(({ name }) => name), ...Object.keys(bindings)];
  const variables = new Map(names.map((name) => [name, CelScalar.DYN]));
  const values = new Map(
    Object.entries(bindings).map(([name, { kind }]) => [name, kind.case === 'value' ? celOf(kind.value) : null]),
  );
  try {
    const expression = compileExpression(expr, { variables, macrosMax: Infinity });
    const value = evaluate(expression, {
      budget: new Budget(),
      random: new RandomSequence(''),
      variable: (name) => values.get(name) ?? (values.has(name) ? null : new ExpressionError('absent')),
    });
    return value instanceof ExpressionError ? `error` : textOf(value);
  } catch (error) {
    if (error instanceof ExpressionProblem) return `error`;
    throw error;
  }
};

const isAsExpected = (one: Case): boolean => {
  const { resultMatcher: matcher } = one.original;
  const result = resultOf(one);
  switch (matcher.case) {
    case 'value':
      return result === expectedText(matcher.value);
    case 'typedResult':
      return matcher.value.result === undefined || result === expectedText(matcher.value.result);
    case undefined:
      return result === 'true';
    default:
      return result === 'error';
  }
};

const beginsWith = ({ path }: Case, names: readonly string[]): boolean => names.some((name) => path.startsWith(name));
const sections = Object.keys(EXCLUDED_SECTIONS).map((section) => `${section}/`);
const excluded = Object.keys(EXCLUDED_CASES);
const cases = casesOf(getConformanceSuite()).filter((one) => !beginsWith(one, sections));

describe('the conformance suite of CEL', () => {
  test.each(cases.filter((one) => !beginsWith(one, excluded)))('$path', (one) => {
    expect(isAsExpected(one)).toBe(true);
  });

  test.each(cases.filter((one) => beginsWith(one, excluded)))('$path is excluded, because it fails', (one) => {
    expect(isAsExpected(one)).toBe(false);
  });

  test('has cases for each exclusion', () => {
    const all = casesOf(getConformanceSuite());
    expect([...sections, ...excluded].filter((name) => !all.some((one) => beginsWith(one, [name])))).toEqual([]);
    expect(cases.length).toBeGreaterThan(1_200);
  });
});
