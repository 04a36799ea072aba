import type { EndpointConfig, HeaderPair } from '@standin/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  HOST,
  request,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from '../gateway.testing.ts';
import { RawClient, rejectionCode, responseHeader } from '../raw-client.testing.ts';

const JSON_TYPE: HeaderPair = ['content-type', 'application/json'];
const template = (slug: string, body: string, headers: readonly HeaderPair[] = [JSON_TYPE]): EndpointConfig =>
  endpoint(slug, { template: 'CEL', body, headers });

const OBJECTS = [
  ...BASIC_OBJECTS,
  template('/echo/{id}', '{"id": "${path.id}", "note": ${request.json.note}, "at": "${now}", "uuid": "${uuid()}"}', [
    JSON_TYPE,
    ['x-note', '${request.json.note}'],
  ]),
  template('/newer', '{"a": ${nothing}}'),
  template('/key', '{"key": ${request.headers["x-api-key"]}}'),
  endpoint(
    '/some',
    {},
    {
      responses: [
        {
          name: 'first',
          pathParams: [],
          headers: [],
          queryParams: [],
          mock: {
            status: 201,
            headers: [JSON_TYPE],
            body: '"${request.query.q}"',
            bodyEncoding: 'utf8',
            template: 'CEL',
          },
        },
      ],
    },
  ),
];

let stand: TestGateway;
let client: RawClient;
beforeEach(async () => {
  stand = await startTestGateway({ objects: OBJECTS });
  client = await RawClient.connect(stand.gateway.url);
});
afterEach(async () => {
  client.destroy();
  await stand[Symbol.asyncDispose]();
});

const responseTo = async (path: string, text: string) => {
  const body = Buffer.from(text).toString('latin1');
  client.send(request('POST', `/${URI}${path}`, [HOST, WITH_KEY, `Content-Length: ${body.length}`], body));
  const response = (await client.responses()).at(-1);
  if (response === undefined) throw new Error('there is no response');
  return response;
};
const capturedRow = async () => {
  await stand.sink.until(({ rows }) => rows.length === 1);
  const [row] = stand.sink.rows;
  if (row === undefined) throw new Error('there is no row');
  return row;
};

test('the body and the headers are made from the request, and recorded as sent', async () => {
  const response = await responseTo('/echo/4%202', '{"note": "\\"b\\" é"}');
  const row = await capturedRow();
  const sent = JSON.parse(response.body.toString()) as Record<string, string>;
  expect(sent).toEqual({
    id: '4 2',
    note: '"b" é',
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[0-9:.]+Z$/) as string,
    uuid: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
  });
  expect(Math.abs(Date.parse(sent['at'] ?? '') - row.receivedAtUs / 1_000)).toBeLessThan(2);
  expect([response.status, responseHeader(response, 'x-note'), responseHeader(response, 'content-length')]).toEqual([
    200,
    '"b" é',
    String(response.body.length),
  ]);
  expect({ ...row, responseBody: Buffer.from(row.responseBody) }).toMatchObject({
    outcome: 'mocked',
    status: 200,
    templateError: '',
    response: '',
    responseBody: response.body,
    responseHeaders: expect.arrayContaining([['x-note', '"b" é']]) as HeaderPair[],
  });
});

test('a response can be a template', async () => {
  const response = await responseTo('/some?q=%22', '');
  expect([response.status, response.body.toString()]).toEqual([201, '"\\""']);
  expect(await capturedRow()).toMatchObject({ response: 'first', status: 201 });
});

describe('a template that cannot be rendered', () => {
  test.each([
    ['/echo/1', '{}', 'header x-note: ${request.json.note} at line 1, column 1: there is no field note'],
    [
      '/echo/1',
      '{"note": "a\\r\\nset-cookie: b=c"}',
      'header x-note: ${request.json.note} at line 1, column 1: the value',
    ],
    ['/newer', '', 'body: ${nothing} at line 1, column 7: there is no variable nothing: use '],
    ['/key', '', 'body: ${request.headers["x-api-key"]} at line 1, column 9: there is no field x-api-key'],
  ])('is a problem for the caller of %s with %s, and its reason is in the log', async (path, body, reason) => {
    const response = await responseTo(path, body);
    expect([response.status, responseHeader(response, 'content-type'), rejectionCode(response)]).toEqual([
      500,
      'application/problem+json',
      undefined,
    ]);
    expect(JSON.parse(response.body.toString())).toEqual({
      type: 'https://standin.dev/errors#template_failed',
      code: 'template_failed',
      status: 500,
      title: 'A template of the response could not be rendered',
      detail: 'The log has the reason.',
    });
    const row = await capturedRow();
    expect(row).toMatchObject({ outcome: 'template_failed', status: 500, action: 'JSON' });
    expect(row.templateError).toContain(reason);
    expect(Buffer.from(row.responseBody)).toEqual(response.body);
  });
});

test.each([
  ['{"a": 1${path.id}}', 'JSON'],
  ['${', 'body: has ${ at line 1, column 1 without a closing brace'],
])('the body %s is refused when the configuration arrives', async (body, message) => {
  const { rejected } = await stand.operator.publish([template('/broken/{id}', body)]);
  expect(rejected).toEqual([expect.objectContaining({ message: expect.stringContaining(message) as string })]);
});
