import type { JsonMockConfig, ResponseConfig } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { previewResponse, type PreviewInput } from './preview-response.ts';

const json = (body: string, more: Partial<JsonMockConfig> = {}): JsonMockConfig => ({
  status: 200,
  headers: [['content-type', 'application/json'] as const],
  body,
  template: 'CEL',
  ...more,
});
const response = (name: string, plan: string, mock: Partial<ResponseConfig['mock']> = {}): ResponseConfig => ({
  name,
  pathParams: [],
  queryParams: [],
  headers: [{ name: 'x-plan', type: 'Exact', value: plan }],
  mock: { ...json(`"\${path.id} ${name}"`), bodyEncoding: 'utf8', ...mock },
});
const preview = (more: Partial<PreviewInput> & { readonly headers?: PreviewInput['request']['headers'] } = {}) => {
  const { headers = [], ...input } = more;
  const request = {
    id: 'request',
    receivedAtUs: 0,
    project: 'shop',
    projectUrl: 'https://mocks.example.com/k3v9x2m7q4hd8w1n',
    method: 'GET',
    path: '/a/7',
    query: '',
    headers,
    body: Buffer.from('{"n": "<b>"}'),
  };
  return previewResponse({
    endpoint: { namespace: 'default', name: 'a', method: 'GET', slug: '/a/{id}', action: 'JSON' },
    responses: [response('gold', 'gold'), response('late', 'gold')],
    mock: json('${request.json.n}'),
    request,
    edited: undefined,
    ...input,
  });
};

describe('a preview', () => {
  it('has the rendered response, and the conditions of earlier ones', () => {
    expect(preview()).toMatchObject({
      unmatched: [{ name: 'gold' }, { name: 'late' }],
      content: { kind: 'Mock', status: 200, body: '"<b>"', bodyBytes: 5, isCut: false },
      edited: undefined,
    });
    expect(preview({ headers: [['x-plan', 'gold']] })).toMatchObject({
      response: 'gold',
      unmatched: [],
      content: { body: '"7 gold"' },
    });
  });

  it.each([
    [0, [], 'gold', '"7 gold"'],
    [1, [['x-plan', 'gold']], 'late', '"7 late"'],
    ['default', [['x-plan', 'gold']], '', '"<b>"'],
  ] as const)('has the edited response %s if another one is returned', (edited, headers, name, body) => {
    expect(preview({ edited, headers })).toMatchObject({ edited: { name, content: { body } } });
  });

  it.each([
    [0, [['x-plan', 'gold']]],
    ['default', []],
    [7, []],
  ] as const)('has no second response if the edited one, %s, is returned or missing', (edited, headers) => {
    expect(preview({ edited, headers })).toMatchObject({ edited: undefined });
  });

  it('has only the beginning of long text, and the size of binary content', () => {
    const mock = json('x'.repeat(200_000), { template: undefined, headers: [['a', 'y'.repeat(4_096)]] });
    const typed = { ...mock, headers: [...mock.headers, ['content-type', 'text/plain'] as const] };
    const long = preview({ mock: typed });
    expect(long).toMatchObject({ content: { bodyBytes: 200_000, isCut: true } });
    expect(JSON.stringify(long).length).toBeLessThan(20_000);
    const binary = response('png', 'png', { body: 'iVBORw0KGgo=', bodyEncoding: 'base64', template: undefined });
    expect(preview({ responses: [binary], headers: [['x-plan', 'png']] })).toMatchObject({
      content: { body: undefined, bodyBytes: 8, isCut: false },
    });
  });

  it('says that a template fails, that a mock or a condition has an error, or that the path does not match', () => {
    expect(preview({ mock: json('${request.json.m}') })).toMatchObject({
      content: {
        kind: 'TemplateFailed',
        reason: 'body: ${request.json.m} at line 1, column 1: there is no field m',
      },
    });
    expect(preview({ mock: json('${nothing}') })).toMatchObject({ content: { kind: 'Invalid' } });
    const condition = { name: 'a', type: 'RegularExpression', value: '(' } as const;
    expect(preview({ responses: [{ ...response('a', 'b'), headers: [condition] }] })).toMatchObject({
      unavailable: expect.stringMatching(/^There is an error: the value of the condition on a /) as string,
    });
    const endpoint = { namespace: 'default', name: 'a', method: 'GET', slug: '/b/{id}', action: 'JSON' } as const;
    expect(preview({ endpoint, edited: 0 })).toMatchObject({ rejection: 'endpoint_not_found', edited: undefined });
  });
});
