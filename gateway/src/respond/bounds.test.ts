import { LIMITS, type EndpointConfig, type HeaderPair, type ResponseConfig } from '@standin/contract';
import { expect, test } from 'vitest';
import { compile } from '../config/compile.ts';
import { endpoint, project } from '../gateway.testing.ts';
import type { Asked } from '../request/expressions.ts';
import { chooseResponder } from './respond.ts';

/** No request may block the gateway for longer. CPU time, because other processes can slow down the test. */
const CPU_MS_MAX = 50;

const many = (count: number, text: string, separator: string): string => Array(count).fill(text).join(separator);
const numbers = Array.from({ length: 4_500 }, (_, index) => index);
const A = 'a'.repeat(500_000);

/** Conditions on the query parameter `a` and expressions, in turn. */
const responses = (value: string, cel: string, conditions = 1): readonly ResponseConfig[] =>
  Array.from({ length: LIMITS.responsesMax }, (_, index) => ({
    ...{ name: `r${index}`, pathParams: [], headers: [], queryParams: [] },
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

const SLOW_TEXTS = `a=${'a'.repeat(LIMITS.matchedValuesLengthMax - 1)}b&${'\xe9&'.repeat(3_000)}`;
const NO_TEXTS = 'a&'.repeat(4_000);
const SEARCHED = JSON.stringify({ a: A, b: `${A.slice(0, 100_000)}b${A.slice(0, 100_000)}`, l: numbers });
const MEMBERS = JSON.stringify(Object.fromEntries(numbers.map((x) => [`${'\u0001'.repeat(30)}${x}`, x])));
const SEARCHES = many(12, 'request.json.a.contains(request.json.b)', '||');

test.each<[string, EndpointConfig, string, string]>([
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
    'a&'.repeat(LIMITS.expressionFormBytesMax / 2),
  ],
])('a response takes a bounded time: %s', async (name, config, query, body) => {
  const entry = compile(config);
  if (entry.kind !== 'Endpoint' || entry.endpoint.kind !== 'JSON') throw new Error('this is not a mock');
  await entry.endpoint.preparation.finish();
  const type = name.includes('form') ? 'application/x-www-form-urlencoded' : 'application/json';
  const headers: HeaderPair[] = [
    ['content-type', type],
    ['a', ''],
    ...many(1_000, 'b', ',')
      .split(',')
      .map((x): HeaderPair => [x, x]),
  ];
  const asked = {
    ...{ id: '0190a9b2-1111-7222-8333-123456789abc', exchange: { receivedAtUs: 0 }, body: Buffer.from(body, 'latin1') },
    head: { method: 'POST', path: '/orders/1', query, headers },
    route: { project: project('shop', 'shop'), endpoint: entry.endpoint, parameters: new Map([['id', ['1']]]) },
  } as unknown as Asked;
  const cpuMs = Array.from({ length: 3 }, () => {
    const start = process.threadCpuUsage();
    const responder = chooseResponder(asked);
    expect(responder.kind === 'JSON' && responder.mock.bytes.length).toBeGreaterThan(0);
    const { user, system } = process.threadCpuUsage(start);
    return (user + system) / 1_000;
  });
  expect(Math.min(...cpuMs)).toBeLessThan(CPU_MS_MAX);
});
