import { RE2JS } from '@bufbuild/re2';
import { LIMITS } from '@standin/contract';
import { cpuMs } from '@standin/contract/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Budget } from './budget.ts';
import { parseRegularExpression } from './regular-expression.ts';

const matches = (source: string, value: string): boolean => {
  const parsed = parseRegularExpression(source);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.expression.automaton.matches(value, new Budget());
};

test.each([
  ['gold|silver', 'silver', true],
  ['gold|silver', 'goldsilver', false],
  ['gold', 'golden', false],
  ['gold', 'marigold', false],
  ['^gold$', 'gold', true],
  ['', '', true],
  ['', 'a', false],
  ['a*', '', true],
  ['.', '\n', false],
  ['(?s).', '\n', true],
  ['(?i)GOLD', 'gold', true],
  ['(?i)é', 'É', true],
  ['[0-9]{2,4}', '12345', false],
  ['[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}', '01234567-89ab-cdef-0123-456789abcdef', true],
  ['\\bfoo\\b.*', 'foo bar', true],
  ['\\bfoo\\b.*', 'foobar', false],
  ['(?m)a$\n^b', 'a\nb', true],
  ['\\x{1F4A1}+', '💡💡', true],
  ['[^a]', '💡', true],
  ['.', '\ud800', true],
  ['\\Qa.b\\E', 'a.b', true],
  ['(|a)+', 'aa', true],
  ['{*', '{{', true],
  ['x{{2}', 'x{{', true],
  ['a{,2}', 'a{,2}', true],
  ['{a}+?', '{a}}', true],
  ['[{]{2}', '{{', true],
  ['\\Q{*', '{*', true],
  ['(?i)K', '\u212a', true],
  ['(?i)[^k]', '\u212a', false],
  ['(?i)ſ', 'S', true],
  ['(?i)σ', 'ς', true],
  ['(?i)ß', 'SS', false],
  ['(?i)i', '\u0130', false],
  ['(?i)[𐐀]', '𐐨', true],
  ['\\s', '\u00a0', false],
  ['\\w', 'é', false],
  ['a\\b.', 'aé', true],
  ['(?U)a+?', 'aa', true],
  ['$^', '', true],
  ['(?m)^$\n^$', '\n', true],
  ['a\\z', 'a', true],
  ['[[:^alpha:]]', 'é', true],
  ['(?:(?i)a)b', 'AB', false],
])('%s is compared with %j', (source, value, expected) => {
  expect(matches(source, value)).toBe(expected);
});

test.each([
  ['(a', 'missing closing ) at character 1'],
  ['(a))b', 'unexpected ) at character 4'],
  ['[()](', 'missing closing ) at character 5'],
  ['x[a', 'missing closing ], [a at character 2'],
  ['{**', 'invalid nested repetition operator, ** at character 2'],
  ['a{{2}{3}', 'invalid nested repetition operator, {2}{3} at character 3'],
  ['(?{a}', 'invalid or unsupported Perl syntax, (?{ at character 1'],
  ['a**', 'invalid nested repetition operator, ** at character 2'],
  ['*a', 'missing argument to repetition operator, * at character 1'],
  ['a{1001}', 'invalid repeat count, {1001} at character 2'],
  ['a{2,1}', 'invalid repeat count, {2,1} at character 2'],
  ['\\', 'trailing backslash'],
  ['[z-a]', 'invalid character class range, z-a at character 2'],
  ['(?>a)', 'invalid or unsupported Perl syntax, (?> at character 1'],
  ['x(?!a)', 'has (?! at character 2: RE2 has no look-around'],
  ['(?=a)', 'has (?= at character 1: RE2 has no look-around'],
  ['(?<=a)b', 'has (?<=a)b at character 1: RE2 has no look-around'],
  ['a(?<!b)', 'has (?<!b) at character 2: RE2 has no look-around'],
  ['(a)\\1', 'has \\1 at character 4: RE2 has no back references'],
  ['(?P<n>a)\\k<n>', 'has \\k at character 9: RE2 has no back references'],
  ['a\\pL', 'has \\p at character 2: classes of Unicode characters are not supported'],
  ['[^\\p{Greek}]', 'has \\p at character 3: classes of Unicode characters are not supported'],
  ['(?i)[A-\\x{1e942}]', 'a range of characters that are not ASCII'],
  ['(?i)[[:alpha:]B-é]', 'a range of characters that are not ASCII'],
  ['(?i)[]B-é]', 'a range of characters that are not ASCII'],
  ['(abcde{1000}){1000}', 'is too large: it has about'],
  ['a{99999999999999999999}', 'invalid repeat count'],
  ['(abcdefghij){19}(?i){50}', 'is too large: it has about 12404 instructions'],
  ['(a{900}){3}', 'is too large: it has about 2716 instructions, and 2000 are allowed'],
])('%s is refused', (source, message) => {
  const parsed = parseRegularExpression(source);
  expect(parsed.ok ? 'accepted' : parsed.message).toContain(message);
});

const part = fc.constantFrom(
  ...['a', 'b', 'é', '💡', '.', '\\b', '\\B', '^', '$', '\\d', '\\W', '[ab]', '[^a]', '[]x]', '(?i)', '(?m)', '(?s)'],
  ...[
    '(',
    '(?:',
    '(?i:',
    ')',
    ')',
    '|',
    '*',
    '+',
    '?',
    '*?',
    '{2}',
    '{0,3}',
    '{2,}',
    '{0}',
    '\\Qa{9}\\E',
    '\\x{e9}',
    '\n',
  ],
);
const source = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''));
const value = fc.array(fc.constantFrom('a', 'b', 'A', 'é', 'É', '💡', '\n', '1', ' ', '\ud800'), { maxLength: 10 });

test('the result is that of the library, and the size is at least that of its program', () => {
  let valid = 0;
  fc.assert(
    fc.property(source, value, (pattern, characters) => {
      const parsed = parseRegularExpression(pattern);
      if (!parsed.ok) return;
      valid += 1;
      const library = new RE2JS(pattern);
      expect(matches(pattern, characters.join(''))).toBe(library.testExact(characters.join('')));
      expect(parsed.expression.size).toBeGreaterThanOrEqual(library.re2().prog.numInst());
    }),
    // A count after flags repeats what is before the flags.
    { numRuns: 5_000, examples: [['(){0,3}(?i){0,3}', []]] },
  );
  expect(valid).toBeGreaterThan(500);
});

const CPU_MS_MAX = 50;

describe('time', () => {
  const max = 1_024;
  const random = Array.from({ length: max }, (_, index) => ((index * 2_654_435_761) & 0x1_0000 ? 'a' : 'b')).join('');

  test.each([
    '(a+)+$',
    '(.*a){280}',
    '(a|b)*a(a|b){280}',
    '((a?){30}b?){10}',
    '(?i)(.*k){280}',
    '([\\w.-]{1,30}x?){1,28}',
    '(\\b.?){280}',
  ])('of as many instructions as are allowed is within the budget: %s', (pattern) => {
    const parsed = parseRegularExpression(pattern);
    if (!parsed.ok) throw new Error(parsed.message);
    const count = Math.floor(LIMITS.regularExpressionsSizeMax / parsed.expression.size);
    const { automaton } = parsed.expression;
    for (const text of ['a'.repeat(max), random, 'aé💡\u212a'.repeat(max / 5)]) {
      const run = (): void => {
        const budget = new Budget();
        for (let turn = 0; turn < count; turn += 1) automaton.matches(text, budget);
      };
      run();
      expect(cpuMs(run, CPU_MS_MAX)).toBeLessThan(CPU_MS_MAX);
    }
  });

  test.each([
    '(?:'.repeat(300) + 'x' + ')'.repeat(300),
    '(?i)' + '[^\\W\\D[:^alpha:]]'.repeat(60),
    '(?i)' + '[\\x00-\\xff]'.repeat(80),
    '[' + '\\x{0}-\\x{10ffff}'.repeat(60) + ']',
    '(' + 'x'.repeat(1000) + '){1000}',
    'x|'.repeat(500),
    '('.repeat(1_000),
    '[a'.repeat(500),
    '\\Q'.repeat(500),
    '(?i'.repeat(300),
  ])('to compile is bounded', (pattern) => {
    const parse = (): void => void parseRegularExpression(pattern);
    parse();
    expect(cpuMs(parse, CPU_MS_MAX)).toBeLessThan(CPU_MS_MAX);
  });
});
