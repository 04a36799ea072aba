import { LIMITS, type HeaderPair, type Method } from '@standin/contract';
import { describe, expect, test } from 'vitest';
import { compileConditions, type ConditionsConfig } from './conditions.ts';
import {
  mockContent,
  explain,
  CandidateTable,
  type Candidate,
  type ExplainedRequest,
  type Explanation,
} from './explain.ts';
import type { MockConfig } from './planned-response.ts';

interface Given extends Partial<ConditionsConfig> {
  readonly name: string;
  readonly mock?: Partial<MockConfig>;
}

const mockConfig = (mock: Partial<MockConfig> = {}): MockConfig => ({ status: 200, headers: [], body: '', ...mock });
const candidate = (
  method: Method,
  slug: string,
  responses: readonly Given[] = [],
  action: Partial<MockConfig> = {},
): Candidate => ({
  endpoint: {
    namespace: 'default',
    name: `${method} ${slug}`,
    method,
    slug,
    action: 'JSON',
  },
  rules: () => ({
    responses: responses.map(({ name, mock, ...when }) => ({
      name,
      conditions: compileConditions({ pathParams: [], headers: [], queryParams: [], ...when }),
      mock: mockConfig(mock),
    })),
    mock: mockConfig(action),
  }),
});
const asked = (path: string, more: Partial<ExplainedRequest> = {}): ExplainedRequest => ({
  method: 'GET',
  path,
  query: '',
  headers: [],
  body: new Uint8Array(),
  id: 'request',
  receivedAtUs: 0,
  project: 'shop',
  projectUrl: 'https://mocks.example.com/k3v9x2m7q4hd8w1n',
  ...more,
});
const explainUnmet = (when: Partial<ConditionsConfig>, request: Partial<ExplainedRequest>) =>
  explain(
    [candidate('GET', '/orders/{id}', [{ name: 'a', ...when }])],
    asked('/orders/a%2Fb', request),
  ).unmatched.flatMap(({ unmet }) => unmet);

describe('a condition that is not met is explained with the values that the request has', () => {
  const plan = { name: 'X-Plan', type: 'Exact', value: 'gold' } as const;
  test.each<[string, Partial<ConditionsConfig>, Partial<ExplainedRequest>, object]>([
    [
      'a path parameter',
      { pathParams: [{ name: 'id', type: 'Exact', value: '42' }] },
      {},
      { on: 'pathParams', name: 'id', type: 'Exact', value: '42', seen: ['a/b'], seenCount: 1 },
    ],
    [
      'a header with another value',
      { headers: [plan] },
      { headers: [['x-PLAN', 'free']] },
      {
        on: 'headers',
        name: 'x-plan',
        type: 'Exact',
        value: 'gold',
        seen: ['free'],
        seenCount: 1,
        message: 'The header x-plan is "free". It must be "gold".',
      },
    ],
    ['a missing header', { headers: [plan] }, {}, { on: 'headers', name: 'x-plan', seen: [], seenCount: 0 }],
    [
      'a header that must be there',
      { headers: [{ name: 'x-plan', type: 'Present' }] },
      {},
      { on: 'headers', name: 'x-plan', type: 'Present', seen: [], seenCount: 0 },
    ],
    [
      'a header that must not be there',
      { headers: [{ name: 'x-plan', type: 'Absent' }] },
      { headers: [['x-plan', '']] },
      { on: 'headers', name: 'x-plan', type: 'Absent', seen: [''], seenCount: 1 },
    ],
    [
      'a value that must match a regular expression',
      { pathParams: [{ name: 'id', type: 'RegularExpression', value: '[0-9]+' }] },
      {},
      { on: 'pathParams', type: 'RegularExpression', value: '[0-9]+', seen: ['a/b'], seenCount: 1 },
    ],
    [
      'a query parameter',
      { queryParams: [{ name: 'expand', type: 'Exact', value: 'items' }] },
      { query: 'expand=a%20b&Expand=items&expand=c' },
      { on: 'queryParams', name: 'expand', type: 'Exact', value: 'items', seen: ['a b', 'c'], seenCount: 2 },
    ],
    [
      'a draw by key',
      { draw: { percent: 5, seed: 'pr-42', key: 'path.id' } },
      {},
      {
        on: 'draw',
        name: '',
        type: 'Draw',
        value: 'path.id',
        seen: ['a/b'],
        seenCount: 1,
        message: 'The key "a/b" draws 32.5197. It must draw less than 5.',
      },
    ],
    [
      'a draw by itself',
      { draw: { percent: 5, seed: 'pr-42' } },
      {},
      {
        on: 'draw',
        seen: [],
        seenCount: 0,
        message: 'The request draws 35.577. It must draw less than 5.',
      },
    ],
    [
      'a draw without a key',
      { draw: { percent: 100, seed: 'pr-42', key: "request.headers['x-request-id']" } },
      {},
      {
        on: 'draw',
        value: "request.headers['x-request-id']",
        seen: [],
        message: 'The draw has no key: there is no field x-request-id.',
      },
    ],
    [
      'an expression that is false',
      { cel: 'request.json.total > 10' },
      { body: Buffer.from('{"total": 1}') },
      {
        on: 'cel',
        name: '',
        type: 'CEL',
        value: 'request.json.total > 10',
        message: expect.stringContaining('is false') as unknown,
      },
    ],
    [
      'an expression without a value',
      { cel: 'requestId == "request" && project == "shop" && request.json.total > 10' },
      { body: Buffer.from('{}') },
      { on: 'cel', message: expect.stringMatching(/ has no value: there is no field total\.$/) as unknown },
    ],
    [
      'an expression that sees the names',
      { cel: 'endpoint == "GET /orders/{id}" && path.id == "a/b" && request.path == "/orders/a%2Fb" && false' },
      {},
      { on: 'cel', message: expect.stringContaining('is false') as unknown },
    ],
  ])('%s', (_, when, request, expected) => {
    expect(explainUnmet(when, request)).toMatchObject([expected]);
  });

  test('every one of them, and none of those that are met', () => {
    const when: Partial<ConditionsConfig> = {
      pathParams: [{ name: 'id', type: 'Exact', value: 'a/b' }],
      headers: [plan, { name: 'x-test', type: 'Absent' }],
      queryParams: [{ name: 'page', type: 'Present' }],
    };
    expect(explainUnmet(when, {}).map(({ name }) => name)).toEqual(['x-plan', 'page']);
  });

  test.each(['x-api-key', 'X-API-Key'])('but never with the API key (%s)', (name) => {
    const headers: HeaderPair[] = [[name, 'sk_secret']];
    const when: Partial<ConditionsConfig> = { headers: [{ name, type: 'Exact', value: 'sk_other' }] };
    expect(explainUnmet(when, { headers })).toMatchObject([{ seen: [], seenCount: 0 }]);
  });

  test('with the beginning of few values if there are many long ones', () => {
    const headers = Array.from({ length: 1_000 }, (): HeaderPair => ['x-plan', 'a'.repeat(60_000)]);
    const value = 'b'.repeat(4_000);
    const [unmet] = explainUnmet({ headers: [{ ...plan, value }] }, { headers });
    expect(unmet).toMatchObject({ seenCount: 1_000 });
    expect(unmet?.seen.length).toBe(LIMITS.explainedValuesMax);
    for (const text of [unmet?.value, ...(unmet?.seen ?? [])]) expect(text).toMatch(/^(a{199}|b{199})…$/);
  });

  test('and says that the budget is exhausted', () => {
    const slow = Array.from({ length: 1_000 }, () => ({ name: 'q', type: 'RegularExpression' as const, value: 'b*' }));
    const [unmet] = explainUnmet({ queryParams: slow }, { query: 'q&'.repeat(4_000) });
    expect(unmet?.message).toBe(
      'The query parameter q was not compared: the conditions and templates of the endpoint take too long for this request.',
    );
  });

  test('without half of a character at the end', () => {
    const query = `q=${encodeURIComponent(`${'a'.repeat(LIMITS.explainedValueLengthMax - 2)}😀😀`)}`;
    const [unmet] = explainUnmet({ queryParams: [{ name: 'q', type: 'Exact', value: 'x' }] }, { query });
    expect(unmet?.seen[0]?.isWellFormed()).toBe(true);
  });
});

test('conditions that a gateway does not reach do not use up the budget of those that it reaches', () => {
  const slow = Array.from({ length: 1_000 }, () => ({ name: 'q', type: 'RegularExpression' as const, value: 'b*' }));
  const endpoint = candidate('GET', '/a', [
    { name: 'slow', headers: [{ name: 'x-plan', type: 'Present' }], queryParams: slow },
    { name: 'first', queryParams: slow.slice(0, 1) },
  ]);
  expect(explain([endpoint], asked('/a', { query: 'q&'.repeat(4_000) }))).toMatchObject({ response: 'first' });
});

describe('the responses of an endpoint', () => {
  const header = (name: string, value: string) => ({ name, type: 'Exact' as const, value });
  const endpoint = candidate('GET', '/a', [
    { name: 'two', headers: [header('a', '1'), header('b', '1')] },
    { name: 'one', headers: [header('a', '1')] },
    { name: 'none', headers: [header('c', '1')] },
    { name: 'later', headers: [header('a', '2')] },
  ]);
  const chosenResponse = (headers: readonly HeaderPair[]): unknown => {
    const { response, unmatched } = explain([endpoint], asked('/a', { headers }));
    return [response, unmatched.map(({ name }) => name)];
  };

  test('before the one that is returned are listed, those with the fewest unmet conditions first', () => {
    expect(chosenResponse([['c', '1']])).toEqual(['none', ['one', 'two']]);
  });

  test('are all listed if the action decides', () => {
    expect(chosenResponse([])).toEqual([undefined, ['one', 'none', 'later', 'two']]);
  });

  test('after the one that is returned are not listed', () => {
    expect(chosenResponse([['a', '1']])).toEqual(['one', ['two']]);
  });
});

describe('the content', () => {
  const gold = { name: 'gold', headers: [{ name: 'x-plan', type: 'Exact' as const, value: 'gold' }] };
  const JSON_TYPE: HeaderPair = ['content-type', 'application/json'];
  const template = { template: 'CEL' as const, headers: [JSON_TYPE] };
  const mockResponse = (mock: Partial<MockConfig>, more: Partial<ExplainedRequest> = {}) => {
    const candidates = [candidate('GET', '/orders/{id}', [gold], mock)];
    const request = asked('/orders/42', { body: Buffer.from('{"n": 1}'), ...more });
    return { ...new CandidateTable(candidates).explain(request).content, ...explain(candidates, request).mock };
  };

  test('is rendered, with the delay for the request', () => {
    const delay = { kind: 'Fixed', fixedMs: 300 } as const;
    const body = '{"id": "${path.id}", "n": ${request.json.n}}';
    expect(mockResponse({ ...template, body, delay, status: 201 })).toEqual({
      kind: 'Mock',
      isTemplate: true,
      status: 201,
      headers: [JSON_TYPE],
      bodyEncoding: 'utf8',
      body: '{"id": "42", "n": 1}',
      delay: { type: 'Fixed', ms: 300 },
    });
  });

  test('is the body itself without a template, and empty if the status has none', () => {
    expect(mockResponse({ body: '"${path.id}"' })).toMatchObject({ isTemplate: false, body: '"${path.id}"' });
    expect(mockResponse({ body: '1', status: 204 })).toMatchObject({ body: '' });
  });

  test('has the same random values as an expression that was evaluated before would leave to it', () => {
    const random = { ...template, body: '${random(1, 1000000)}' };
    const after = candidate('GET', '/', [{ name: 'a', cel: 'random(1, 2) > 5' }], random);
    const singleContent = (one: Candidate) => new CandidateTable([one]).explain(asked('/')).content;
    expect(singleContent(after)).toEqual(singleContent(after));
    expect(singleContent(after)).not.toEqual(singleContent(candidate('GET', '/', [], random)));
  });

  test('of a template that fails is the reason, without a delay', () => {
    const delay = { kind: 'Fixed', fixedMs: 300 } as const;
    expect(mockResponse({ ...template, body: '{"a":\n ${request.json.other}}', delay })).toEqual({
      isTemplate: true,
      kind: 'TemplateFailed',
      reason: 'body: ${request.json.other} at line 2, column 2: there is no field other',
      templateError: 'body: ${request.json.other} at line 2, column 2: there is no field other',
    });
  });

  test.each<[Partial<MockConfig>, string]>([
    [{ ...template, body: '{"a": ${nothing}}' }, 'body has an error in ${nothing} at line 1, column 9: '],
    [{ ...template, headers: [JSON_TYPE, ['x-a', '${1 +}']], body: '1' }, 'header x-a has an error in ${1 +} at '],
    [{ ...template, body: '{"a": ${path.id}' }, 'body is not a JSON document: SyntaxError: '],
    [{ body: '{' }, 'body is not a JSON document: SyntaxError: '],
    [
      { ...template, body: `[${`"\${path.id == '${'a'.repeat(900)}'}",`.repeat(10)} 1]` },
      'the expressions have more than 8192 characters in total',
    ],
  ])('of a mock with an error is the error: %#', (mock, reason) => {
    expect(mockResponse(mock)).toMatchObject({ kind: 'Invalid', reason: expect.stringContaining(reason) as string });
  });

  test('is absent if an upstream responds', () => {
    const forward: Candidate = { ...candidate('GET', '/'), rules: () => ({ responses: [] }) };
    expect(explain([forward], asked('/'))).not.toHaveProperty('mock');
  });

  test('of a response can be made although another one responds', () => {
    const one = candidate('GET', '/orders/{id}', [gold]);
    const mock = mockConfig({ ...template, body: '"${path.id}"' });
    expect(mockContent(one, asked('/orders/7'), mock)).toMatchObject({ kind: 'Mock', body: '"7"' });
  });
});

describe('the endpoint', () => {
  const project = [
    candidate('POST', '/v1/orders/latest'),
    candidate('GET', '/v1/orders/{id}'),
    candidate('GET', '/v1/{kind}/{id}'),
    candidate('DELETE', '/v1/customers'),
    candidate('GET', '/files/{path...}'),
    candidate('POST', '/jobs/{id}:cancel'),
    // An operator accepts no such slug.
    candidate('GET', '/v1/orders/{id'),
  ];
  const shown = ({ endpoint, rejection, otherEndpoints }: Explanation): unknown => [
    endpoint?.name ?? rejection,
    ...otherEndpoints.map(({ name, reason }) => `${reason}: ${name}`),
  ];

  test.each<[string, string, readonly string[]]>([
    [
      'GET',
      '/v1/orders/latest',
      ['GET /v1/orders/{id}', 'Method: POST /v1/orders/latest', 'Precedence: GET /v1/{kind}/{id}'],
    ],
    ['GET', '/files/a/b', ['GET /files/{path...}']],
    ['GET', '/files/', ['GET /files/{path...}']],
    ['POST', '/jobs/7:cancel', ['POST /jobs/{id}:cancel']],
    ['POST', '/jobs/7:cancle', ['endpoint_not_found', 'Path: POST /jobs/{id}:cancel']],
    ['PUT', '/v1/customers', ['method_not_allowed', 'Method: DELETE /v1/customers']],
    ['GET', '/v1/Customers/', ['endpoint_not_found', 'Path: DELETE /v1/customers', 'Path: GET /v1/{kind}/{id}']],
    [
      'GET',
      '/v1/orders/%00',
      ['endpoint_not_found', 'Path: GET /v1/orders/{id}', 'Path: GET /v1/{kind}/{id}', 'Path: POST /v1/orders/latest'],
    ],
    ['GET', '/v1/customer', ['endpoint_not_found', 'Path: DELETE /v1/customers', 'Path: GET /v1/{kind}/{id}']],
    ['GET', '/other', ['endpoint_not_found']],
    ['GET', '/', ['endpoint_not_found']],
    ['GET', '', ['endpoint_not_found']],
  ])('for %s %s', (method, path, expected) => {
    expect(shown(explain(project, asked(path, { method })))).toEqual(expected);
  });

  test('is explained within a moment in a large project, for a path with many segments', () => {
    const many = Array.from({ length: 20_000 }, (_, index) => candidate('GET', `/a/b/${index}`));
    const startedMs = performance.now();
    const { otherEndpoints } = explain(many, asked(`/a/b/c${'/x'.repeat(4_000)}`));
    expect(otherEndpoints).toEqual([]);
    expect(explain(many, asked('/a/b/c')).otherEndpoints).toHaveLength(LIMITS.explainedEndpointsMax);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });
});
