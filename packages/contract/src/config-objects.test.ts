import { expect, test } from 'vitest';
import {
  configObjectSchema,
  featuresOf,
  withhold,
  WITHHELD_CREDENTIAL,
  type EndpointConfig,
  type ResponseConfig,
} from './config-objects.ts';

const response: ResponseConfig = {
  name: 'a',
  pathParams: [],
  headers: [],
  queryParams: [],
  mock: { status: 200, headers: [], body: '', bodyEncoding: 'utf8' },
};
const endpoint: EndpointConfig = {
  kind: 'Endpoint',
  uid: 'u',
  namespace: 'n',
  name: 'e',
  projectUid: 'p',
  generation: 1,
  slug: '/',
  method: 'GET',
  action: { kind: 'JSON', status: 200, headers: [], body: '{}' },
};
const delay = { kind: 'Fixed', fixedMs: 1 } as const;
const mock = { status: 200, headers: [], body: '{}' };
const upstream = { kind: 'Forward', url: 'http://a', timeoutMs: 1, viaService: false } as const;
const expression = { name: 'a', type: 'RegularExpression', value: 'b' } as const;
const credential = { kind: 'Signature', signature: { scheme: 'GitHub' }, secretIds: [] } as const;

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
  ['a delay', { action: { kind: 'JSON', ...mock, delay } }, ['delays']],
  [
    'a delay of a response',
    { responses: [response, { ...response, mock: { ...response.mock, delay } }] },
    ['responses', 'delays'],
  ],
  ['the action Withheld', { action: { kind: 'Withheld' } }, ['path-parameters']],
  ['a fallback', { action: { ...upstream, fallback: { on: ['Timeout'], mock } } }, ['fallback']],
  [
    'a delay of a fallback',
    { action: { ...upstream, fallback: { on: ['Timeout'], mock: { ...mock, delay } } } },
    ['delays', 'fallback'],
  ],
  ['a credential', { credential }, ['signatures']],
])('an endpoint with %s needs the features for it', (_name, more, features) => {
  expect(featuresOf({ ...endpoint, ...more })).toEqual(features);
});

test('only an account with a rate limit needs a feature', () => {
  const account = { kind: 'Account', uid: 'a', namespace: 'n', name: 'a', plan: 'Free', quota: 1 } as const;
  expect([featuresOf(account), featuresOf({ ...account, requestsPerSecond: 1 })]).toEqual([[], ['rate-limits']]);
});

const WITHHELD = { kind: 'Withheld' };

test('a withheld endpoint without a credential does not get one', () => {
  expect(withhold(endpoint)).toEqual({ ...endpoint, action: WITHHELD });
});

test.each([credential, { kind: 'Later' }])('a withheld endpoint keeps no secret of the credential %j', (own) => {
  const withheld = withhold({ ...endpoint, credential: own });
  expect(withheld).toEqual({ ...endpoint, action: WITHHELD, credential: WITHHELD_CREDENTIAL });
  expect(configObjectSchema.parse(withheld)).toEqual(withheld);
});
