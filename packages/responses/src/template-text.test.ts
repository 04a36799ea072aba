import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTemplateText } from './template-text.ts';

const parse = (source: string) => {
  const parsed = parseTemplateText(source);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.template;
};
const expressionSources = (source: string): string[] => parse(source).slots.map((slot) => slot.source);

describe('an expression', () => {
  test.each([
    ['no expression', []],
    ['${a}', ['a']],
    ['a${b}c${ d }', ['b', ' d ']],
    ['${{"a": {"b": 1}}.a}', ['{"a": {"b": 1}}.a']],
    ['${"}"}}', ['"}"']],
    ['${"}', ['"']],
    ["${'}' + '{'}", ["'}' + '{'"]],
    ["${'\\'}'}", ["'\\'}'"]],
    ['${r"\\"}"}', ['r"\\"']],
    ['${rb"}"}', ['rb"}"']],
    ['${"""}"\n}"""}', ['"""}"\n}"""']],
    ["${'''}\\''' }'''}", ["'''}\\''' }'''"]],
    ['${1 // }\n}', ['1 // }\n']],
    ['$${a} $$${b}', []],
    ['$a {b} $ {c}', []],
    ['"${request.headers["x"]}"', ['request.headers["x"]']],
  ])('in %s ends at its brace: %j', (source, expected) => {
    expect(expressionSources(source)).toEqual(expected);
  });

  test.each([
    [
      '${',
      'has ${ at line 1, column 1 without a closing brace in the next 1024 characters; write $${ for a literal ${',
    ],
    ['a\n  ${{}', 'has ${ at line 2, column 3 without'],
    [`\${${'a'.repeat(1_024)}}`, undefined],
    [`\${${'a'.repeat(1_025)}}`, 'has ${ at line 1, column 1 without'],
    ['{"a": ${ }}', 'has an empty expression at line 1, column 7'],
  ])('in %s is refused', (source, message) => {
    const parsed = parseTemplateText(source);
    expect(parsed.ok ? undefined : parsed.message).toEqual(
      message === undefined ? undefined : expect.stringContaining(message),
    );
  });
});

test('$${ is a literal ${', () => {
  const { texts, slots, skeleton } = parse('"$${a} $$${b}${c}"');
  expect({ texts, skeleton }).toEqual({ texts: ['"${a} $${b}', '"'], skeleton: '"$${a} $$${b}xxxx"' });
  expect(slots).toEqual([{ source: 'c', index: 15, isInString: true }]);
});

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('the skeleton', () => {
  test.each([
    ['{"a": ${b}}', [false]],
    ['{"a": "${b}"}', [true]],
    ['{"a": "x${b}y${c}", "d": [${e}, ${f}]}', [true, true, false, false]],
    ['${a}', [false]],
    ['"\\"${a}\\\\"', [true]],
    ['{"${a}": 1}', [true]],
    ['{"a": ${\n"}"\n}}', [false]],
  ])('of %s is JSON, with the slots in strings: %j', (source, inStrings) => {
    const { slots, skeleton } = parse(source);
    expect([isJson(skeleton), skeleton.length, slots.map(({ isInString }) => isInString)]).toEqual([
      true,
      source.length,
      inStrings,
    ]);
  });

  test.each([
    '{${a}: 1}',
    '{"a": 1${b}}',
    '{"a": ${b}1}',
    '{"a": -${b}}',
    '{"a": 1.${b}}',
    '{"a": 1e${b}}',
    '{"a": "b"${c}}',
    '{"a": ${b}${c}}',
    '{"a": ${b}"c"}',
    '{"a": t${b}}',
    '{"a" ${b} 1}',
    '"\\${a}"',
    '"\\u00${a}"',
    '"\\u004${a}1"',
    '{"a": $${b}}',
    '"${a\n}"',
    '[1, ${a},]',
    '',
  ])('of %s is not JSON', (source) => {
    expect(isJson(parse(source).skeleton)).toBe(false);
  });

  test('is JSON only if the template makes JSON of all values', () => {
    const piece = fc.constantFrom(
      ...['{', '}', '[', ']', '"', '\\', ':', ',', '1', '-', '.', 'e', 'u', 't', ' ', '${a}'],
    );
    const value = fc.constantFrom<unknown>(null, true, -1.5e300, 10, '', '"\\', [], [1], {}, { a: '}' });
    let count = 0;
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 9 }),
        fc.array(value, { minLength: 9, maxLength: 9 }),
        (pieces, values) => {
          const { texts, slots, skeleton } = parse(pieces.join(''));
          if (!isJson(skeleton) || slots.length === 0) return;
          count += 1;
          const made = slots.map(({ isInString }, index) => {
            const json = JSON.stringify(values[index]);
            return isInString ? JSON.stringify(json).slice(1, -1) : json;
          });
          JSON.parse(texts.map((text, index) => text + (made[index] ?? '')).join(''));
        },
      ),
      { numRuns: 20_000 },
    );
    expect(count).toBeGreaterThan(100);
  });
});
