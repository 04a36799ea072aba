import type { HeaderPair, ValueCondition } from '@standin/contract';
import { describe, expect, test } from 'vitest';
import { compileConditions, meetsConditions } from './conditions.ts';
import { parsePathPattern } from './path-pattern.ts';
import { PatternTable } from './pattern-table.ts';
import { expressionsFor } from './request-expressions.testing.ts';

// The requests and expectations of the Gateway API's conformance tests for HTTPRoute: HTTPExactPathMatching, HTTPRoutePathMatchOrder,
// HTTPRouteMatching, HTTPRouteHeaderMatching and HTTPRouteQueryParamMatching. A prefix is two slugs. The Gateway API orders rules by the
// number of conditions, and Standin by their position, so the rules are in that order here.

type Pairs = Readonly<Record<string, string>>;
interface Rule {
  readonly slugs?: readonly string[];
  readonly headers?: Pairs;
  readonly query?: Pairs;
  readonly backend: string;
}

const exactly = (pairs: Pairs = {}): ValueCondition[] =>
  Object.entries(pairs).map(([name, value]) => ({ name, type: 'Exact', value }));
/** The same as a regular expression. Values in these tests have no special characters. */
const matching = (pairs: Pairs = {}): ValueCondition[] =>
  exactly(pairs).map((condition) => ({ ...condition, type: 'RegularExpression' }));

const chosenBackend = (rules: readonly Rule[], target: string, sent: Pairs, toConditions = exactly): string => {
  const [path = '', query = ''] = target.split('?');
  const headers: HeaderPair[] = Object.entries(sent);
  const endpoints = Map.groupBy(
    rules.flatMap((rule) => (rule.slugs ?? ['/', '/{rest...}']).map((slug) => ({ slug, rule }))),
    ({ slug }) => slug,
  );
  const literal = endpoints.get(path);
  const table = new PatternTable<readonly { readonly rule: Rule }[]>();
  for (const [slug, candidates] of endpoints) {
    const parsed = slug.includes('{') ? parsePathPattern(slug) : undefined;
    if (parsed?.ok) table.set(parsed.pattern, candidates);
  }
  const expressions = expressionsFor({ headers, query });
  for (const { rule } of literal ?? table.matches(path).at(0) ?? []) {
    const conditions = { pathParams: [], headers: toConditions(rule.headers), queryParams: toConditions(rule.query) };
    if (meetsConditions(expressions, compileConditions(conditions))) return rule.backend;
  }
  return '404';
};

const prefix = (path: string): string[] => [path, `${path}/`, `${path}/{rest...}`];

test.each([
  ['/one', 'v1'],
  ['/two', 'v2'],
  ['/', '404'],
  ['/one/example', '404'],
  ['/two/', '404'],
  ['/Two', '404'],
])('HTTPExactPathMatching: %s', (target, backend) => {
  const rules = [
    { slugs: ['/one'], backend: 'v1' },
    { slugs: ['/two'], backend: 'v2' },
  ];
  expect(chosenBackend(rules, target, {})).toBe(backend);
});

test.each([
  ['/match/exact/one', 'v3'],
  ['/match/exact', 'v2'],
  ['/match', 'v1'],
  ['/match/prefix/one/any', 'v2'],
  ['/match/prefix/any', 'v1'],
  ['/match/any', 'v3'],
])('HTTPRoutePathMatchOrder: %s', (target, backend) => {
  const rules = [
    { slugs: ['/match/{rest...}'], backend: 'v3' },
    { slugs: ['/match/exact/one'], backend: 'v3' },
    { slugs: ['/match/exact'], backend: 'v2' },
    { slugs: ['/match'], backend: 'v1' },
    { slugs: prefix('/match/prefix'), backend: 'v1' },
    { slugs: prefix('/match/prefix/one'), backend: 'v2' },
  ];
  expect(chosenBackend(rules, target, {})).toBe(backend);
});

describe.each([
  ['Exact', exactly],
  ['RegularExpression', matching],
])('with %s', (_type, toConditions) => {
  test.each<[string, Pairs, string]>([
    ['/', {}, 'v1'],
    ['/example', {}, 'v1'],
    ['/', { Version: 'one' }, 'v1'],
    ['/v2', {}, 'v2'],
    ['/v2/example', {}, 'v2'],
    ['/', { Version: 'two' }, 'v2'],
    ['/v2/', {}, 'v2'],
    ['/v2example', {}, 'v1'],
    ['/foo/v2/example', {}, 'v1'],
  ])('HTTPRouteMatching: %s with %j', (target, headers, backend) => {
    const rules = [
      { headers: { version: 'two' }, backend: 'v2' },
      { backend: 'v1' },
      { slugs: prefix('/v2'), backend: 'v2' },
    ];
    expect(chosenBackend(rules, target, headers, toConditions)).toBe(backend);
  });

  test.each<[Pairs, string]>([
    [{ Version: 'one' }, 'v1'],
    [{ Version: 'two' }, 'v2'],
    [{ Version: 'two', Color: 'orange' }, 'v1'],
    [{ Version: 'two', Color: 'blue' }, 'v2'],
    [{ Color: 'orange' }, '404'],
    [{ 'Some-Other-Header': 'one' }, '404'],
    [{ Color: 'blue' }, 'v1'],
    [{ Color: 'green' }, 'v1'],
    [{ Color: 'red' }, 'v2'],
    [{ Color: 'yellow' }, 'v2'],
    [{ Color: 'purple' }, '404'],
  ])('HTTPRouteHeaderMatching: %j', (headers, backend) => {
    const rules = [
      { headers: { version: 'two', color: 'orange' }, backend: 'v1' },
      { headers: { version: 'one' }, backend: 'v1' },
      { headers: { version: 'two' }, backend: 'v2' },
      { headers: { color: 'blue' }, backend: 'v1' },
      { headers: { color: 'green' }, backend: 'v1' },
      { headers: { color: 'red' }, backend: 'v2' },
      { headers: { color: 'yellow' }, backend: 'v2' },
    ];
    expect(chosenBackend(rules, '/', headers, toConditions)).toBe(backend);
  });

  test.each<[string, Pairs, string]>([
    ['/?animal=whale', {}, 'v1'],
    ['/?animal=dolphin', {}, 'v2'],
    ['/?animal=dolphin&color=blue', {}, 'v3'],
    ['/?ANIMAL=Whale', {}, 'v3'],
    ['/?animal=whale&otherparam=irrelevant', {}, 'v1'],
    ['/?animal=dolphin&color=yellow', {}, 'v2'],
    ['/?color=blue', {}, '404'],
    ['/?animal=dog', {}, '404'],
    ['/?animal=whaledolphin', {}, '404'],
    ['/', {}, '404'],
    ['/path1?animal=whale', {}, 'v1'],
    ['/?animal=whale', { version: 'one' }, 'v2'],
    ['/path2?animal=whale', { version: 'two' }, 'v3'],
    ['/path3?animal=shark', {}, 'v1'],
    ['/path4?animal=kraken', { version: 'three' }, 'v1'],
    ['/?animal=shark', {}, '404'],
    ['/path4?animal=kraken', {}, '404'],
    ['/path5?animal=hydra', {}, 'v1'],
    ['/?animal=hydra', { version: 'four' }, 'v3'],
  ])('HTTPRouteQueryParamMatching: %s with %j', (target, headers, backend) => {
    const rules = [
      { headers: { version: 'one' }, query: { animal: 'whale' }, backend: 'v2' },
      { headers: { version: 'four' }, query: { animal: 'hydra' }, backend: 'v3' },
      { query: { animal: 'dolphin', color: 'blue' }, backend: 'v3' },
      { query: { animal: 'whale' }, backend: 'v1' },
      { query: { animal: 'dolphin' }, backend: 'v2' },
      { query: { ANIMAL: 'Whale' }, backend: 'v3' },
      { slugs: ['/path1'], query: { animal: 'whale' }, backend: 'v1' },
      { slugs: ['/path2'], headers: { version: 'two' }, query: { animal: 'whale' }, backend: 'v3' },
      { slugs: ['/path3'], query: { animal: 'shark' }, backend: 'v1' },
      { slugs: ['/path4'], headers: { version: 'three' }, query: { animal: 'kraken' }, backend: 'v1' },
      { slugs: ['/path5'], query: { animal: 'hydra' }, backend: 'v1' },
    ];
    expect(chosenBackend(rules, target, headers, toConditions)).toBe(backend);
  });
});
