import { expect, test } from 'vitest';
import { featuresOf, type EndpointConfig, type ResponseConfig } from './config-objects.ts';

const response: ResponseConfig = {
  ...{ name: 'a', pathParams: [], headers: [], queryParams: [] },
  mock: { status: 200, headers: [], body: '', bodyEncoding: 'utf8' },
};
const endpoint: EndpointConfig = {
  ...{
    kind: 'Endpoint',
    uid: 'u',
    namespace: 'n',
    name: 'e',
    projectUid: 'p',
    generation: 1,
    slug: '/',
    method: 'GET',
  },
  action: { kind: 'JSON', status: 200, headers: [], body: '{}' },
};
const expression = { name: 'a', type: 'RegularExpression', value: 'b' } as const;

test.each<[string, Partial<EndpointConfig>, readonly string[]]>([
  ['nothing', {}, []],
  ['a parameter', { slug: '/{id}' }, ['path-parameters']],
  ['a response', { responses: [response] }, ['responses']],
  [
    'a regular expression for a header',
    { responses: [{ ...response, headers: [expression] }] },
    ['responses', 'regular-expressions'],
  ],
  [
    'a regular expression for a query parameter',
    { responses: [response, { ...response, queryParams: [expression] }] },
    ['responses', 'regular-expressions'],
  ],
  ['an expression', { responses: [{ ...response, cel: 'true' }] }, ['responses', 'expressions']],
  ['a template', { action: { kind: 'JSON', status: 200, headers: [], body: '{}', template: 'CEL' } }, ['templates']],
  [
    'a template of a response',
    { responses: [{ ...response, mock: { ...response.mock, template: 'CEL' } }] },
    ['responses', 'templates'],
  ],
])('an endpoint with %s needs the features for it', (_name, more, features) => {
  expect(featuresOf({ ...endpoint, ...more })).toEqual(features);
});
