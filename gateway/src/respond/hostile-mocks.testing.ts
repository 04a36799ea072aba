import { LIMITS, type EndpointConfig, type ResponseConfig } from '@standin/contract';
import { endpoint } from '../gateway.testing.ts';

/** An endpoint and a request that take as much time as the limits allow. */
export interface HostileMock {
  readonly name: string;
  readonly config: EndpointConfig;
  readonly query: string;
  /** latin1 */
  readonly body: string;
  readonly contentType: string;
}

const many = (count: number, text: string, separator: string): string => Array(count).fill(text).join(separator);
const numbers = Array.from({ length: 4_500 }, (_, index) => index);
const A = 'a'.repeat(500_000);

/** Conditions on the query parameter `a` and expressions, in turn. */
const responses = (value: string, cel: string, conditions = 1): readonly ResponseConfig[] =>
  Array.from({ length: LIMITS.responsesMax }, (_, index) => ({
    name: `r${index}`,
    pathParams: [],
    headers: [],
    queryParams: [],
    ...(index % 2 === 0 && {
      queryParams: Array.from({ length: conditions }, () => ({ name: 'a', type: 'RegularExpression' as const, value })),
    }),
    ...(index % 2 === 1 && index < LIMITS.expressionsLengthMax / cel.length && { cel }),
    ...(index % 2 === 1 && { headers: [{ name: 'a', type: 'Present' as const }] }),
    mock: { status: 200, headers: [], body: '{}', bodyEncoding: 'utf8' as const },
  }));

const slug = '/orders/{id}';
const withBody = (body: string, list: readonly ResponseConfig[]): EndpointConfig =>
  endpoint(slug, { body, template: 'CEL' }, { responses: list });

const SLOW_TEXTS = `a=${'a'.repeat(1_023)}b&${'%E9&'.repeat(1_500)}`;
const NO_TEXTS = 'a&'.repeat(4_000);
const SEARCHED = JSON.stringify({ a: A, b: `${A.slice(0, 100_000)}b${A.slice(0, 100_000)}`, l: numbers });
const MEMBERS = JSON.stringify(Object.fromEntries(numbers.map((x) => [`${'\u0001'.repeat(30)}${x}`, x])));
const SEARCHES = many(12, 'request.json.a.contains(request.json.b)', '||');

const CASES: readonly [name: string, config: EndpointConfig, query: string, body: string][] = [
  ['empty values', withBody('{}', responses('x', 'false', LIMITS.conditionsMax)), NO_TEXTS, ''],
  ['empty values and searches', withBody('{}', responses('x', SEARCHES, LIMITS.conditionsMax)), NO_TEXTS, SEARCHED],
  ['large expressions and searches', withBody('{}', responses('(.*a){17}', SEARCHES)), SLOW_TEXTS, SEARCHED],
  [
    'large expressions, a large document and its echo',
    withBody('{"a": ${request.json}}', responses('(.*a){17}', 'request.json.x == 1')),
    SLOW_TEXTS,
    MEMBERS,
  ],
  [
    'a loop and many echoes',
    withBody(`[${many(90, '${request.json}', ',')}]`, responses('(.*a){17}', `request.json.all(x, x < 0 || true)`)),
    SLOW_TEXTS,
    JSON.stringify(numbers),
  ],
  [
    'searches and control characters',
    withBody('["${request.body}"]', responses('x', 'request.body.contains("\\u0001\\u0002")')),
    NO_TEXTS,
    '\u0001'.repeat(LIMITS.expressionTextLengthMax),
  ],
  [
    'a form and fake data',
    withBody(`[${many(99, '"${fake("word.noun")}"', ',')}]`, responses('x', 'request.form.a == "x"')),
    NO_TEXTS,
    'a&'.repeat(32_000),
  ],
];

export const HOSTILE_MOCKS: readonly HostileMock[] = CASES.map(([name, config, query, body]) => ({
  name,
  config,
  query,
  body,
  contentType: name.includes('form') ? 'application/x-www-form-urlencoded' : 'application/json',
}));
