import { parseManifest, parseObject } from '@standin/crds';
import { expect, it } from 'vitest';
import { manifestYaml } from '../../src/resources/manifest-yaml.ts';
import {
  EMPTY_ENDPOINT,
  endpointFields,
  readEndpointValues,
  toEndpoint,
  valuesOf,
  type EndpointValues,
} from './endpoint-values.ts';
import { submitted } from './submitted-form.testing.ts';

const identity = { namespace: 'default', project: 'shop' };

const spec = (more: object) => ({
  projectRef: { name: 'shop' },
  displayName: 'Create order',
  slug: '/v1/orders',
  method: 'POST',
  action: 'JSON',
  ...more,
});

it.each([
  ['a mock', spec({ json: { body: '{"a": 1.0}' } })],
  [
    'a mock with every field',
    spec({
      json: {
        status: 201,
        headers: [
          { name: 'X-A', value: '' },
          { name: 'x-a', value: 'b' },
        ],
        body: '[1]\n',
      },
    }),
  ],
  [
    'a signature',
    spec({
      json: { body: '{}' },
      credential: {
        type: 'Signature',
        signature: { scheme: 'Stripe', secretRefs: [{ name: 'a', key: 'b' }], tolerance: '1m' },
      },
    }),
  ],
  [
    'an HMAC with two secrets',
    spec({
      json: { body: '{}' },
      credential: {
        type: 'Signature',
        signature: {
          scheme: 'HMAC',
          secretRefs: [
            { name: 'a', key: 'b' },
            { name: 'a', key: 'c' },
          ],
          hmac: { header: 'x-sig', algorithm: 'SHA512', encoding: 'Base64', prefix: 'sig ' },
        },
      },
    }),
  ],
  [
    'a token',
    spec({
      json: { body: '{}' },
      credential: {
        type: 'Signature',
        signature: { scheme: 'Token', secretRefs: [{ name: 'a', key: 'b' }], token: { header: 'x-token' } },
      },
    }),
  ],
  ['a template', spec({ json: { body: '{}', template: 'CEL' } })],
  ['a delay', spec({ json: { body: '{}', delay: { type: 'Fixed', fixed: '1s' } } })],
  ['a response without a body', spec({ json: { status: 204 } })],
  ['a URL', spec({ action: 'Forward', forward: { url: 'https://api.example.com/?a=1', timeout: '5s' } })],
  [
    'a Service',
    spec({ action: 'Forward', forward: { serviceRef: { name: 'orders', port: 80, path: '/v2', scheme: 'https' } } }),
  ],
  ['both', spec({ json: { body: '{}' }, forward: { url: 'http://localhost:3000' } })],
])('the form preserves %s', (_, before) => {
  const values = readEndpointValues(submitted(valuesOf('create-order', before)));
  expect(toEndpoint(values, identity).spec).toEqual(before);
});

it('fields that the form does not edit are kept', () => {
  const before = spec({
    json: { body: '{}', fault: { type: 'Reset' } },
    forward: { url: 'http://a/', fallback: { on: ['Timeout'] } },
    attempts: { key: 'path.id' },
    credential: { type: 'Later', later: { a: 1 } },
  });
  const values = readEndpointValues(submitted({ ...valuesOf('a', before), 'spec.json.body': '[]' }));
  expect(toEndpoint(values, { ...identity, spec: before }).spec).toEqual({
    ...before,
    json: { body: '[]', fault: { type: 'Reset' } },
  });
});

it('an unedited body keeps its line breaks and spaces', () => {
  const body = ' {\r\n"a": 1\n}\r\n\n';
  const values = readEndpointValues(submitted(valuesOf('a', spec({ json: { body } }))));
  expect(toEndpoint(values, { ...identity, spec: spec({ json: { body } }) }).spec).toMatchObject({ json: { body } });
});

it('empty header rows are ignored', () => {
  const values = {
    ...EMPTY_ENDPOINT,
    headers: [
      { name: '', value: '' },
      { name: 'a', value: 'b' },
    ],
  };
  expect(readEndpointValues(submitted(values)).headers).toEqual([{ name: 'a', value: 'b' }]);
});

it('the object name is derived from the display name, unless the user enters one', () => {
  const values = { ...EMPTY_ENDPOINT, 'spec.displayName': 'Create order' };
  expect(toEndpoint(values, identity).metadata).toEqual({ name: 'create-order', namespace: 'default' });
  expect(toEndpoint({ ...values, 'metadata.name': 'x' }, identity).metadata.name).toBe('x');
});

it('every problem in an invalid form belongs to a field', () => {
  const values: EndpointValues = {
    ...EMPTY_ENDPOINT,
    'metadata.name': 'Not A Name',
    'spec.slug': 'orders?',
    'spec.method': 'HEAD',
    'spec.json.status': 'many',
    headers: [{ name: 'content length', value: 'é€' }],
    'spec.forward.url': 'ftp://x',
    'spec.forward.timeout': 'soon',
  };
  const parsed = parseObject(toEndpoint(values, identity));
  const problems = parsed.ok ? [] : parsed.problems;
  const fields = new Set(endpointFields(values));
  expect(problems.length).toBeGreaterThan(7);
  expect(problems.filter(({ path }) => !fields.has(path))).toEqual([]);
});

it('the YAML preview matches the form, even for unusual strings', () => {
  const body = '# not a comment\n\ttab\n"quotes": yes\n  trailing  \n\n';
  const object = toEndpoint({ ...EMPTY_ENDPOINT, 'spec.displayName': 'on', 'spec.json.body': body }, identity);
  const { documents, problems } = parseManifest(manifestYaml(object, 'cluster'));
  expect(problems).toEqual([]);
  expect(documents.map(({ value }) => value)).toEqual([object]);
});
