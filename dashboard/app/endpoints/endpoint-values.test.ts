import { SIGNATURE_SCHEMES, type SignatureScheme } from '@standin/contract';
import { parseManifest, parseObject } from '@standin/crds';
import { describe, expect, it } from 'vitest';
import { manifestYaml } from '../../src/resources/manifest-yaml.ts';
import {
  EMPTY_ENDPOINT,
  endpointFields,
  readEndpointValues,
  toEndpoint,
  toEndpointValues,
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
  const values = readEndpointValues(submitted(toEndpointValues('create-order', before)));
  expect(toEndpoint(values, identity).spec).toEqual(before);
});

it('the form keeps an empty body', () => {
  const before = spec({ json: { status: 202, body: '' } });
  const values = readEndpointValues(submitted(toEndpointValues('create-order', before)));
  expect(toEndpoint(values, { ...identity, spec: before }).spec).toEqual(before);
});

const CREDENTIALS: Readonly<Record<SignatureScheme, object>> = {
  GitHub: {},
  Shopify: {},
  Stripe: { tolerance: '1m' },
  Slack: { tolerance: '1m' },
  StandardWebhooks: { tolerance: '1m' },
  HMAC: { hmac: { header: 'x-sig', algorithm: 'SHA512', encoding: 'Base64', prefix: 'sig=' } },
  Token: { token: { header: 'x-token' } },
};

// The form keeps the values of fields that it hides.
it.each(SIGNATURE_SCHEMES)('only the fields of a newly selected scheme are saved: %s', (scheme) => {
  const secretRefs = [{ name: 'a', key: 'b' }];
  const all = Object.assign({ secretRefs }, ...Object.values(CREDENTIALS)) as object;
  const signature = { ...all, scheme: scheme === 'HMAC' ? 'Token' : 'HMAC' };
  const before = spec({ json: { body: '{}' }, credential: { type: 'Signature', signature } });
  const opened = toEndpointValues('a', before);
  const credential = { ...opened.credential, 'signature.scheme': scheme };
  const values = readEndpointValues(submitted({ ...opened, credential }));
  const saved = toEndpoint(values, { ...identity, spec: before });
  expect(saved.spec).toEqual({
    ...before,
    credential: { type: 'Signature', signature: { scheme, secretRefs, ...CREDENTIALS[scheme] } },
  });
  expect(parseObject(saved)).toMatchObject({ ok: true });
  const withKey = { ...values, credential: { ...values.credential, type: '' } };
  expect(toEndpoint(withKey, { ...identity, spec: before }).spec).not.toHaveProperty('credential');
});

it('fields that the form does not edit are kept', () => {
  const before = spec({
    json: { body: '{}', fault: { type: 'Reset' } },
    forward: {
      url: 'http://a/',
      fallback: { on: ['Timeout'] },
      requestHeaders: { set: [{ name: 'a', valueFrom: { secretRef: { name: 'up', key: 'token' } } }] },
    },
    attempts: { key: 'path.id' },
    credential: { type: 'Later', later: { a: 1 } },
  });
  const values = readEndpointValues(submitted({ ...toEndpointValues('a', before), 'spec.json.body': '[]' }));
  expect(toEndpoint(values, { ...identity, spec: before }).spec).toEqual({
    ...before,
    json: { body: '[]', fault: { type: 'Reset' } },
  });
});

describe('fields of later versions', () => {
  const later = { later: { a: 1 } };
  const credential = (signature: object, secretRef: object = {}) => ({
    type: 'Signature',
    signature: { secretRefs: [{ name: 'a', key: 'b', ...later, ...secretRef }], ...later, ...signature },
    ...later,
  });
  const header = (name: string, more: object = {}) => ({ name, value: '1', ...more });
  const condition = (name: string, more: object = {}) => ({ name, value: '1', ...more });
  const response = (more: object) => ({ name: 'gold', body: '{}', ...more });
  /** Returns the spec after the values of the form have been changed, and the form submitted. */
  const save = (before: object, change: (values: EndpointValues) => Partial<EndpointValues>): unknown => {
    const values = toEndpointValues('a', before);
    const read = readEndpointValues(submitted({ ...values, ...change(values) }));
    return toEndpoint(read, { ...identity, spec: before }).spec;
  };
  const rename = () => ({ 'spec.displayName': 'Renamed' });
  const mock = (more: object) => spec({ json: { body: '{}', ...more } });

  it.each([
    ['a header', mock({ headers: [header('a', later), header('a', { later: 2 })] })],
    ['a fixed delay', mock({ delay: { type: 'Fixed', fixed: '1s', ...later } })],
    ['a uniform delay', mock({ delay: { type: 'Uniform', uniform: { min: '1s', max: '2s', ...later } } })],
    ['a log-normal delay', mock({ delay: { type: 'LogNormal', logNormal: { median: '1s', p99: '2s', ...later } } })],
    ['a signature', { ...mock({}), credential: credential({ scheme: 'GitHub' }) }],
    ['an HMAC', { ...mock({}), credential: credential({ scheme: 'HMAC', hmac: { header: 'x', ...later } }) }],
    ['a token', { ...mock({}), credential: credential({ scheme: 'Token', token: { header: 'x', ...later } }) }],
    [
      'a third secret',
      {
        ...mock({}),
        credential: {
          type: 'Signature',
          signature: { scheme: 'GitHub', secretRefs: ['a', 'b', 'c'].map((key) => ({ name: 's', key })) },
        },
      },
    ],
    ['a Service', spec({ action: 'Forward', forward: { serviceRef: { name: 'orders', ...later } } })],
    [
      'a private authority',
      spec({ action: 'Forward', forward: { url: 'https://a/', tls: { caRef: { name: 'ca' }, serverName: 'b' } } }),
    ],
    ['another upstream', spec({ action: 'Forward', forward: { gatewayRef: { name: 'orders' }, timeout: '5s' } })],
    ['another upstream of a mock', { ...mock({}), forward: { gatewayRef: { name: 'orders' } } }],
    ['a mock without a body', spec({ action: 'Forward', json: later, forward: { url: 'http://a/' } })],
    ['a project reference', { ...mock({}), projectRef: { name: 'shop', ...later } }],
    [
      'a header of a response',
      {
        ...mock({}),
        responses: [response({ headers: [header('a', later)], delay: { type: 'Fixed', fixed: '1s', ...later } })],
      },
    ],
    [
      'conditions',
      {
        ...mock({}),
        responses: [
          response({
            when: { headers: [condition('a', later)], queryParams: [condition('b', { value: 'a\nb', ...later })] },
          }),
        ],
      },
    ],
  ])('are kept in %s when another field is edited', (_, before) => {
    expect(save(before, rename)).toEqual({ ...before, displayName: 'Renamed' });
  });

  it('are kept in a header that is edited, renamed, moved by a new one, or left by a removed one', () => {
    const before = mock({ headers: [header('a', { later: 1 }), header('a', { later: 2 }), header('b', { later: 3 })] });
    const saved = (change: (rows: EndpointValues['headers']) => EndpointValues['headers']) =>
      (save(before, ({ headers }) => ({ headers: change(headers) })) as { json: { headers: unknown } }).json.headers;
    expect(saved((rows) => rows.map((row) => ({ ...row, value: '2' })))).toEqual([
      header('a', { value: '2', later: 1 }),
      header('a', { value: '2', later: 2 }),
      header('b', { value: '2', later: 3 }),
    ]);
    expect(saved((rows) => rows.with(0, { name: 'c', value: '1' }))).toEqual([
      header('c', { later: 1 }),
      header('a', { later: 2 }),
      header('b', { later: 3 }),
    ]);
    expect(saved((rows) => [{ name: 'c', value: '1' }, ...rows])).toEqual([
      header('c'),
      header('a', { later: 1 }),
      header('a', { later: 2 }),
      header('b', { later: 3 }),
    ]);
    expect(saved((rows) => rows.slice(2))).toEqual([header('b', { later: 3 })]);
  });

  it('are kept in a secret that takes the place of a removed one', () => {
    const secretRefs = ['old', 'new'].map((key) => ({ name: 'a', key, later: key }));
    const before = { ...mock({}), credential: { type: 'Signature', signature: { scheme: 'GitHub', secretRefs } } };
    const moved = { 'signature.secretRefs[0].key': 'new', 'signature.secretRefs[1].key': '' };
    expect(
      save(before, ({ credential: was }) => ({ credential: { ...was, ...moved, 'signature.secretRefs[1].name': '' } })),
    ).toMatchObject({ credential: { signature: { secretRefs: secretRefs.slice(1) } } });
  });

  it('are kept in an edited delay, credential, condition and Service', () => {
    const before = {
      ...mock({ delay: { type: 'Fixed', fixed: '1s', ...later } }),
      credential: credential({ scheme: 'HMAC', hmac: { header: 'x', ...later } }),
      responses: [response({ when: { headers: [condition('a', later)] } })],
      forward: { serviceRef: { name: 'orders', ...later } },
    };
    const after = save(before, ({ delay, credential: was, responses }) => ({
      delay: { ...delay, type: 'Uniform', 'uniform.min': '1s', 'uniform.max': '2s' },
      credential: { ...was, 'signature.hmac.header': 'y', 'signature.secretRefs[0].key': 'c' },
      responses: responses.map((one) => ({
        ...one,
        conditions: one.conditions.map((row) => ({ ...row, value: '2' })),
      })),
      'spec.forward.serviceRef.port': '80',
    }));
    expect(after).toEqual({
      ...before,
      json: { body: '{}', delay: { type: 'Uniform', uniform: { min: '1s', max: '2s' }, ...later } },
      credential: credential({ scheme: 'HMAC', hmac: { header: 'y', ...later } }, { key: 'c' }),
      responses: [response({ when: { headers: [condition('a', { value: '2', ...later })] } })],
      forward: { serviceRef: { name: 'orders', port: 80, ...later } },
    });
  });
});

it.each([
  ['an empty Service', { upstream: 'serviceRef' }],
  [
    'a Service without a name',
    { upstream: 'serviceRef', 'spec.forward.serviceRef.port': '80', 'spec.forward.timeout': '5s' },
  ],
  ['an empty URL', { upstream: 'url', 'spec.forward.timeout': '5s' }],
])('%s does not prevent a mock from being saved, because the form does not show it', (_, upstream) => {
  const values = { ...EMPTY_ENDPOINT, 'spec.displayName': 'Orders', ...upstream };
  expect(parseObject(toEndpoint(readEndpointValues(submitted(values)), identity))).toMatchObject({ ok: true });
});

it('an edited body keeps the line breaks of the lines that were not edited', () => {
  const body = '{\r\n"a": 1,\r\n"b": "\n"\r\n}\n';
  const before = spec({ json: { body }, responses: [{ name: 'gold', when: { cel: '1 <\r\n2\n&& true' }, body }] });
  const edit = (text: string): string => text.replace('1', '3');
  const values = toEndpointValues('a', before);
  const edited = {
    ...values,
    'spec.json.body': edit(values['spec.json.body']),
    responses: values.responses.map((one) => ({ ...one, body: edit(one.body), cel: edit(one.cel) })),
  };
  expect(toEndpoint(readEndpointValues(submitted(edited)), { ...identity, spec: before }).spec).toMatchObject({
    json: { body: edit(body) },
    responses: [{ when: { cel: '3 <\r\n2\n&& true' }, body: edit(body) }],
  });
});

// In one line of JSON, a backslash before an `n` looks like a line break.
it('an edited header or condition is saved even if only the letter after a backslash differs', () => {
  const item = { name: 'a', type: 'RegularExpression', value: String.raw`x\n` };
  const before = {
    ...spec({ json: { body: '{}', headers: [{ name: 'a', value: item.value }] } }),
    responses: [{ name: 'gold', when: { headers: [item] }, body: '{}' }],
  };
  const value = String.raw`x\r`;
  const values = toEndpointValues('a', before);
  const edited = {
    ...values,
    headers: values.headers.map((row) => ({ ...row, value })),
    responses: values.responses.map((one) => ({
      ...one,
      conditions: one.conditions.map((row) => ({ ...row, value })),
    })),
  };
  expect(toEndpoint(readEndpointValues(submitted(edited)), { ...identity, spec: before }).spec).toMatchObject({
    json: { headers: [{ name: 'a', value }] },
    responses: [{ when: { headers: [{ ...item, value }] } }],
  });
});

it('an unedited display name keeps its white space', () => {
  const before = { ...spec({ json: { body: '{}' } }), displayName: ' Create\u00a0' };
  const values = readEndpointValues(submitted({ ...toEndpointValues('a', before), 'spec.slug': '/v2' }));
  expect(toEndpoint(values, { ...identity, spec: before }).spec).toMatchObject({ displayName: ' Create\u00a0' });
});

it('an unedited body keeps its line breaks and spaces', () => {
  const body = ' {\r\n"a": 1\n}\r\n\n';
  const values = readEndpointValues(submitted(toEndpointValues('a', spec({ json: { body } }))));
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
