import { gzipSync } from 'node:zlib';
import type { LogEntry } from '@standin/exchange';
import { testEntry, type TestEntryParts } from '@standin/exchange/entry-testing';
import { describe, expect, test } from 'vitest';
import { writeContract } from '../openapi/contract.testing.ts';
import { ContractComparison } from './compare-contract.ts';
import { Ignored } from './ignored.ts';
import { ReportBuilder } from './report.ts';

const CONTRACT = `
openapi: 3.0.3
servers: [{url: https://shop.example.com/v1}]
paths:
  /orders:
    parameters:
      - {name: x-tenant, in: header, schema: {type: string, minLength: 2}}
    get:
      parameters:
        - {name: limit, in: query, required: true, schema: {type: integer, maximum: 100}}
        - {name: status, in: query, schema: {type: array, items: {enum: [open, paid]}}}
        - {name: ids, in: query, explode: false, schema: {type: array, items: {type: integer}}}
        - {name: filter, in: query, style: deepObject, required: true, schema: {type: object}}
        - {name: flag, in: query, allowEmptyValue: true, schema: {type: boolean}}
        - {name: session, in: cookie, required: true, schema: {type: string, format: uuid}}
        - {name: where, in: query, content: {application/json: {schema: {type: object, required: [a]}}}}
        - {name: authorization, in: header, required: true, schema: {type: string}}
      responses:
        '200':
          headers:
            x-rate: {required: true, schema: {type: integer}}
            x-list: {schema: {type: array, items: {type: integer}}}
          content:
            application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Order'}}}
        4XX: {content: {application/problem+json: {schema: {type: object, required: [title]}}}}
        default: {description: none}
    post:
      requestBody:
        required: true
        content:
          application/json: {schema: {$ref: '#/components/schemas/Order'}}
          application/x-www-form-urlencoded:
            schema: {type: object, required: [amount], properties: {amount: {type: integer}, tag: {type: array, items: {type: string, maxLength: 2}}}}
          multipart/form-data:
            schema: {type: object, required: [amount], properties: {amount: {type: integer}, meta: {type: object, required: [a]}}}
          text/*: {schema: {type: string, maxLength: 3}}
      responses:
        201: {content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
        204: {description: none}
  /orders/{id}:
    get:
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}}
      responses: {'200': {description: none}}
  /broken:
    get: {responses: {'200': {$ref: '#/components/responses/none'}}}
  /deep:
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Deep'}}}}
      responses: {'200': {description: none}}
  /parts:
    get:
      parameters:
        - {name: ids, in: query, schema: {anyOf: [{type: array, items: {type: integer}}, {type: 'null'}]}}
        - {name: sizes, in: query, schema: {type: array, items: {enum: [10, 20]}}}
        - {name: all, in: query, schema: {const: true}}
      responses: {'200': {description: none}}
  /versions:
    get:
      responses:
        '200':
          content:
            application/json: {schema: {type: string}}
            application/json; version=1: {schema: {type: object}}
            application/json; version=2; q=a: {schema: {type: array}}
            application/json; version=2: {schema: {type: array}}
  /lookaround:
    get:
      parameters: [{name: a, in: query, schema: {type: string, pattern: '(?!b)'}}]
      responses: {'200': {description: none}}
components:
  schemas:
    Deep: {type: array, items: {$ref: '#/components/schemas/Deep'}}
    Order:
      type: object
      required: [id, amount]
      properties:
        id: {type: string, readOnly: true}
        amount: {type: integer}
        secret: {type: string, writeOnly: true}
`;

const JSON_TYPE = ['content-type', 'application/json'] as const;
const ORDER = '{"id": "a", "amount": 1}';
const entry = (
  request: string,
  parts: TestEntryParts & { readonly status?: number } = {},
  more: Partial<LogEntry> = {},
): LogEntry => {
  const [method = '', target = ''] = request.split(' ');
  const [path = '', query = ''] = target.split('?');
  const made = testEntry({ ...parts, path, query });
  const status = parts.status ?? 200;
  return {
    ...made,
    method: method as LogEntry['method'],
    outcome: 'mocked',
    status,
    ...more,
    response: { ...made.response, status },
  };
};

const report = (entries: readonly LogEntry[], ignore: readonly string[] = [], contract = CONTRACT) => {
  const ignored = new Ignored();
  for (const text of ignore) ignored.add(text);
  const comparison = new ContractComparison(writeContract({ 'openapi.yaml': contract }), ignored);
  const builder = new ReportBuilder();
  for (const one of entries) comparison.add(one, builder);
  const warnings = comparison.finish(builder);
  return { ...builder.report(), warnings };
};
const changes = (one: LogEntry, ...ignore: readonly string[]) =>
  report([one], ignore).cases.flatMap(({ differences }) => differences.flatMap((difference) => difference.changes));

const LIST = 'GET /v1/orders?limit=10&filter[a]=b';
const SESSION = ['cookie', 'a=b; session=019a0000-0000-7000-8000-000000000001'] as const;
const listed = (query: string, parts: TestEntryParts & { readonly status?: number } = {}) =>
  entry(`${LIST}${query}`, {
    headers: [SESSION],
    responseHeaders: [JSON_TYPE, ['x-rate', '5']],
    responseBody: `[${ORDER}]`,
    ...parts,
  });
const posted = (parts: TestEntryParts & { readonly status?: number }, more: Partial<LogEntry> = {}) =>
  entry('POST /v1/orders', { headers: [JSON_TYPE], body: '{"amount": 1}', status: 204, ...parts }, more);
const form = (body: string) => posted({ headers: [['content-type', 'application/x-www-form-urlencoded']], body });
const multipart = (...parts: readonly string[]) =>
  posted({
    headers: [['content-type', 'multipart/form-data; boundary=b']],
    body: `${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`,
  });

describe('what matches the contract is the same', () => {
  test.each<[string, LogEntry]>([
    [
      'a list',
      listed('&status=open&status=paid&ids=1,2&flag=&where={"a":1}', { headers: [SESSION, ['x-tenant', 'ab']] }),
    ],
    ['a list below another base path', { ...listed(''), path: '/orders' }],
    ['a response to HEAD', { ...listed('', { responseBody: '' }), method: 'HEAD' }],
    [
      'an error by its class',
      listed('', {
        status: 418,
        responseHeaders: [['content-type', 'application/problem+json']],
        responseBody: '{"title": "x"}',
      }),
    ],
    ['an error by default', listed('', { status: 500, responseHeaders: [], responseBody: '' })],
    ['a body', posted({})],
    [
      'a media type in other letters, with a charset',
      listed('', {
        responseHeaders: [
          ['content-type', 'Application/JSON; charset=utf-8'],
          ['x-rate', '5'],
          ['x-list', '1, 2'],
        ],
      }),
    ],
    ['a created order', posted({ status: 201, responseHeaders: [JSON_TYPE], responseBody: ORDER })],
    ['a form', form('amount=1&tag=a&tag=b+')],
    [
      'a multipart form',
      multipart(
        'content-disposition: form-data; name=amount\r\n\r\n1',
        'content-disposition: form-data; name=meta\r\n\r\n{"a": 1}',
      ),
    ],
    ...[
      ['application/json; charset=utf-8', '"a"'],
      ['application/json;Version=1', '{}'],
      ['application/json; charset=utf-8; version=2', '[]'],
      ['application/json; version=3', '"a"'],
    ].map(([type = '', responseBody = '']): [string, LogEntry] => [
      `a body with the type ${type}`,
      entry('GET /versions', { responseHeaders: [['content-type', type]], responseBody }),
    ]),
    ['text', posted({ headers: [['content-type', 'text/plain']], body: 'äöü' })],
    ['a parameter of the path', entry('GET /v1/orders/12')],
    ['parameters whose types are in parts and constants', entry('GET /parts?ids=1&ids=2&sizes=10&all=true')],
  ])('%s', (_, one) => {
    expect(changes(one)).toEqual([]);
    expect(report([one])).toMatchObject({ same: 1, different: 0, skipped: 0 });
  });
});

describe('a difference is listed', () => {
  test.each<[string, LogEntry, readonly string[]]>([
    ['of an unknown path', entry('GET /v2/orders'), ['request path: is not in the contract']],
    ['of an unknown method', entry('PUT /v1/orders'), ['request method: the contract has only GET, POST for the path']],
    ['of a parameter of the path', entry('GET /v1/orders/a'), ['request path id: must be an integer, but is a string']],
    [
      'of a query',
      listed('&ids=1,a&status=new&flag=x'),
      [
        'request query status[0]: must be "open" or "paid"',
        'request query ids[1]: must be an integer, but is a string',
        'request query flag: must be a boolean, but is a string',
      ],
    ],
    [
      'of absent parameters',
      { ...listed('', { headers: [] }), query: '' },
      [
        'request query limit: is required, but is absent',
        'request query filter: is required, but is absent',
        'request cookie session: is required, but is absent',
      ],
    ],
    [
      'of a header',
      listed('', { headers: [SESSION, ['X-Tenant', 'a']] }),
      ['request header x-tenant: must have 2 characters or more, but has 1'],
    ],
    [
      'of a cookie',
      listed('', { headers: [['cookie', 'session=a']] }),
      ['request cookie session: must be in the format uuid'],
    ],
    [
      'of parameters whose types are in parts and constants',
      entry('GET /parts?ids=a&sizes=30&all=false'),
      [
        'request query ids[0]: must be an integer, but is a string',
        'request query sizes[0]: must be 10 or 20',
        'request query all: must be true',
      ],
    ],
    ['of JSON in a query', listed('&where={'), ['request query where: is not JSON']],
    ['of an absent body', posted({ body: '' }), ['request body: is required, but is absent']],
    ['of a body without a place', entry('GET /v1/orders/1', { body: 'a' }), ['request body: the contract has none']],
    [
      'of the media type',
      posted({ headers: [['content-type', 'image/png']] }),
      [
        'request header content-type: must be application/json or application/x-www-form-urlencoded or multipart/form-data or text/*, but is image/png',
      ],
    ],
    [
      'of a body',
      posted({ body: '{"id": "a", "amount": "1"}' }),
      [
        'request body $.id: is read-only, but is in the request',
        'request body $.amount: must be an integer, but is a string',
      ],
    ],
    ['of what is not JSON', posted({ body: '{' }), ['request body: is not JSON']],
    [
      'of a wrong content coding',
      posted({ headers: [JSON_TYPE, ['content-encoding', 'gzip']] }),
      ['request body: is not in its content coding'],
    ],
    [
      'of a form',
      form('tag=abc'),
      [
        'request body $.amount: is required, but is absent',
        'request body $.tag[0]: must have 2 characters or fewer, but has 3',
      ],
    ],
    [
      'of a multipart form',
      multipart('content-disposition: form-data; name=meta\r\n\r\n{}'),
      ['request body $.amount: is required, but is absent', 'request body $.meta.a: is required, but is absent'],
    ],
    [
      'of text',
      posted({ headers: [['content-type', 'text/plain']], body: 'abcd' }),
      ['request body $: must have 3 characters or fewer, but has 4'],
    ],
    ['of the status', posted({ status: 418 }), ['response status 418: is not in the contract']],
    [
      'of response headers',
      listed('', { responseHeaders: [JSON_TYPE, ['x-list', '1, a']] }),
      [
        'response header x-rate: is required, but is absent',
        'response header x-list[1]: must be an integer, but is a string',
      ],
    ],
    [
      'of a response',
      listed('', { responseBody: '[{"id": "a", "amount": 1, "secret": "b"}, {"id": 1}]' }),
      [
        'response body $[0].secret: is write-only, but is in the response',
        'response body $[1].amount: is required, but is absent',
        'response body $[1].id: must be a string, but is a number',
      ],
    ],
    [
      'of the media type of a response',
      listed('', { responseHeaders: [['x-rate', '1']] }),
      ['response header content-type: must be application/json, but is absent'],
    ],
    [
      'of an empty response',
      listed('', { responseBody: '' }),
      ['response body: is empty, but the contract has a schema for it'],
    ],
    [
      'of a response without a place',
      entry('GET /v1/orders/1', { responseBody: 'a' }),
      ['response body: the contract has none'],
    ],
  ])('%s', (_, one, expected) => {
    expect(changes(one)).toEqual(expected);
  });

  test('unless it is ignored', () => {
    const one = listed('', { responseHeaders: [JSON_TYPE], responseBody: '[{"id": 1, "amount": 1}]' });
    expect(changes(one, 'header:X-Rate', '$[*].id')).toEqual([]);
  });

  test('without anything from the values', () => {
    const secret = 'c4ptured';
    const one = listed(`&status=${secret}&flag=${secret}`, {
      headers: [['cookie', `session=${secret}`]],
      responseHeaders: [
        ['content-type', 'application/json'],
        ['x-rate', secret],
      ],
      responseBody: JSON.stringify([{ id: 1, amount: secret }]),
    });
    expect(changes(one)).toHaveLength(6);
    expect(changes(one).join()).not.toContain(secret);
  });

  test('with the beginning of a long name only', () => {
    const body = JSON.stringify([{ id: 'a', amount: 1, ['n'.repeat(1_000_000)]: 1 }]);
    const contract = CONTRACT.replace('      required: [id, amount]', '      additionalProperties: false');
    const one = listed('', { responseBody: body });
    const [change = ''] = report([one], [], contract).cases.flatMap(({ differences }) => differences[0]?.changes ?? []);
    expect(change).toMatch(/^response body \$\[0\]\.n{480,500}…$/);
  });
});

test('the report has each operation, also those without requests, and the requests that match none', () => {
  const { cases, requests, same, different, unseen } = report([
    { ...entry('GET /v1/orders/7'), id: 'first' },
    { ...entry('GET /v1/orders/x'), id: 'second' },
    { ...entry('GET /v9'), id: 'third' },
  ]);
  expect({ requests, same, different, unseen }).toEqual({ requests: 3, same: 1, different: 2, unseen: 7 });
  expect(
    cases.map((one) => ['operation' in one ? one.operation : '', one.same, one.differences.map(({ id }) => id)]),
  ).toEqual([
    ['GET /broken', 0, []],
    ['GET /lookaround', 0, []],
    ['GET /orders', 0, []],
    ['GET /orders/{id}', 1, ['second']],
    ['GET /parts', 0, []],
    ['GET /versions', 0, []],
    ['POST /deep', 0, []],
    ['POST /orders', 0, []],
    ['not in the contract', 0, ['third']],
  ]);
});

const bomb = gzipSync(Buffer.alloc(50_000_000, 0x20));
const deep = '['.repeat(100_000) + ']'.repeat(100_000);
test.each<[string, LogEntry, string]>([
  ['without a response', posted({}, { outcome: 'response_unknown' }), 'unanswered'],
  ['with a truncated response', listed('', { truncated: true }), 'truncated'],
  ['for which the contract has a mistake', entry('GET /broken'), 'contract'],
  ['with a body that is nested deeply', entry('POST /deep', { headers: [JSON_TYPE], body: deep }), 'tooComplex'],
  ['with a body in an unknown coding', posted({ headers: [JSON_TYPE, ['content-encoding', 'aws-chunked']] }), 'coding'],
  [
    'with a body that is a bomb',
    {
      ...posted({}),
      request: {
        ...posted({ headers: [JSON_TYPE, ['content-encoding', 'gzip']] }).request,
        body: bomb.toString('base64'),
        bodyEncoding: 'base64',
      },
    },
    'tooComplex',
  ],
])('a request %s is skipped, with the reason', (_, one, reason) => {
  const { cases, skipped } = report([one]);
  expect(skipped).toBe(1);
  expect(cases.flatMap((one) => [...one.skipped.keys()])).toEqual([reason]);
});

test('a request that is different is not skipped, whatever its response is', () => {
  expect(report([posted({ body: '{' }, { outcome: 'response_unknown' })])).toMatchObject({ different: 1, skipped: 0 });
});

test.each<[string, LogEntry, string]>([
  [
    'a body that is too large',
    posted({ headers: [JSON_TYPE, ['x-tenant', 'a']], body: `"${'a'.repeat(2 ** 21)}"` }),
    'x-tenant',
  ],
  ['a value that is nested deeply', entry('POST /deep', { headers: [JSON_TYPE], body: `[1,${deep}]` }), '$[0]'],
])('a difference that was found before %s is listed', (_, one, expected) => {
  expect(report([one])).toMatchObject({ different: 1, skipped: 0 });
  expect(changes(one)).toEqual([expect.stringContaining(expected)]);
});

test('parts of the contract that cannot be checked are warnings', () => {
  expect(report([entry('GET /broken'), entry('GET /broken'), entry('GET /lookaround?a=b')]).warnings).toEqual([
    'standin: openapi.yaml: the reference "#/components/responses/none" leads to nothing',
    expect.stringMatching(/^standin: openapi.yaml: the pattern "\(\?!b\)" is not checked: /),
  ]);
});

test('a contract that cannot be read is an error', () => {
  expect(() => report([], [], 'openapi: 2')).toThrow('openapi.yaml is not an OpenAPI document');
});
