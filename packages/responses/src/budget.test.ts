import { expect, test } from 'vitest';
import { repeats } from './budget.testing.ts';
import { OUT_OF_BUDGET } from './cel/expression-error.ts';
import { readJson } from './cel/read-json.ts';
import { jsonContents } from './cel/value-text.ts';
import { BudgetExhausted, type Budget } from './budget.ts';
import { parseRegularExpression } from './regular-expression.ts';
import { parseExpression } from './request-expressions.ts';
import { expressionsFor } from './request-expressions.testing.ts';

const match = (source: string, text: string) => {
  const parsed = parseRegularExpression(source);
  if (!parsed.ok) throw new Error(parsed.message);
  return (budget: Budget) => void parsed.expression.automaton.matches(text, budget);
};
const read = (text: string) => (budget: Budget) => void readJson(text, budget);
const quote = (text: string) => (budget: Budget) => {
  if (jsonContents(text, budget) === OUT_OF_BUDGET) throw new BudgetExhausted();
};
const list = (item: string): string => `[${Array(1_000).fill(item).join(',')}]`;

test.each<[string, (budget: Budget) => void, number]>([
  ['an empty text and a short expression', match('x', ''), 119_106],
  ['an empty text and a long expression', match('a?'.repeat(400), ''), 3_428],
  ['a long text and a short expression', match('a*', 'a'.repeat(1_000)), 272],
  ['a long text and a long expression', match('(.*a){200}', 'a'.repeat(100)), 64],
  ['numbers', read(list('1')), 123],
  ['members', read(`{${list('"a":1').slice(1, -1)}}`), 35],
  ['strings with escapes', read(list('"\\n"')), 43],
  ['a long string with escapes', read(`"${'\\n'.repeat(50_000)}"`), 26],
  ['spaces', read(`1${' '.repeat(100_000)}`), 239],
  ['a plain text', quote('a'.repeat(10_000)), 600],
  ['a text of quotes', quote('"'.repeat(10_000)), 75],
  ['a text of control characters', quote('\n'.repeat(10_000)), 75],
  ['a text of lone surrogates', quote('\ud800'.repeat(10_000)), 25],
])('the budget is enough to process %s as often as expected', (_name, action, expected) => {
  const count = repeats(action, 2 * expected);
  expect(count).toBeGreaterThan(0.8 * expected);
  expect(count).toBeLessThan(1.2 * expected);
});

test('a form of many fields exhausts the budget, and a form of few does not', () => {
  const parsed = parseExpression('request.form.a == "x"', []);
  const valueFor = (body: string) =>
    parsed.ok &&
    expressionsFor({
      headers: [['content-type', 'application/x-www-form-urlencoded']],
      body: Buffer.from(body, 'latin1'),
    }).evaluate(parsed.expression);
  expect(valueFor('a&'.repeat(32_000))).toBe(OUT_OF_BUDGET);
  expect(valueFor(`a=${'a'.repeat(1_000_000)}`)).toBe(false);
});
