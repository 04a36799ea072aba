import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TranslateSettings } from '../translate/index.ts';
import { validateManifests, type ManifestFinding, type ValidateOptions } from './validate-manifests.ts';

const EXAMPLES = path.join(import.meta.dirname, '../../../crds/examples');

const SETTINGS: TranslateSettings = {
  gatewayUrl: 'http://gateway',
  checkUpstream: (url) => (url.hostname === '10.0.0.1' ? 'the address 10.0.0.1 is private' : undefined),
  quotaByPlan: { Free: 1, Pro: 2 },
  requestsPerSecondByPlan: { Free: undefined, Pro: undefined },
  clusterDomain: 'cluster.local',
  retentionDaysMax: 365,
  retentionDaysMaxByPlan: { Free: undefined, Pro: undefined },
};

const HEAD = 'apiVersion: standin.dev/v1alpha1\n';
const ACCOUNT = `${HEAD}kind: Account\nmetadata: {name: default}\nspec: {}\n`;
const PROJECT = `${HEAD}kind: Project\nmetadata: {name: shop}\nspec: {accountRef: {name: default}}\n`;
const endpoint = (spec: string, name = 'orders'): string =>
  `${HEAD}kind: Endpoint\nmetadata:\n  name: ${name}\nspec:\n  projectRef: {name: shop}\n  displayName: Orders\n${spec}`;
const MOCK = '  slug: /v1\n  method: GET\n  action: JSON\n  json: {body: "{}"}\n';

const TO_PRIVATE =
  '  slug: /v1\n  method: GET\n  action: Forward\n  forward:\n    url: https://a.example\n    tls: {caRef: {name: ca}}\n';

const validate = (texts: readonly string[], options?: ValidateOptions): ManifestFinding[] =>
  validateManifests(
    [
      { name: 'base.yaml', text: [ACCOUNT, PROJECT].join('---\n') },
      ...texts.map((text, index) => ({ name: `${index}.yaml`, text })),
    ],
    SETTINGS,
    options,
  );

/** Formats a finding, for example as `0.yaml:9 error Endpoint default/orders spec.slug: …`. */
const shown = ({ file, line, severity, object, path: field, message }: ManifestFinding): string =>
  `${file}:${line} ${severity} ${object} ${field}: ${message}`;

describe('validation', () => {
  it('assumes that a ConfigMap with certificates exists if it is not in the files', () => {
    expect(validate([endpoint(TO_PRIVATE)])).toEqual([]);
  });

  it('assumes that it has all data keys that Endpoints refer to', () => {
    const other = TO_PRIVATE.replace('/v1', '/v2').replace('name: ca', 'name: ca, key: other.crt');
    expect(validate([endpoint(TO_PRIVATE), endpoint(other, 'other')])).toEqual([]);
  });

  it.each([
    [
      'an unknown kind',
      `${HEAD}kind: Mock\nmetadata: {name: a}\n`,
      '0.yaml:2 error Mock a kind: Unsupported value: "Mock"',
    ],
    [
      'a different version',
      'apiVersion: standin.dev/v1\nkind: Endpoint\nmetadata: {name: a}\n',
      '0.yaml:1 error Endpoint default/a apiVersion: must be standin.dev/v1alpha1',
    ],
    [
      'an unknown field',
      endpoint(`${MOCK}  slgu: /a\n`),
      '0.yaml:12 error Endpoint default/orders spec.slgu: unknown field "spec.slgu"',
    ],
    [
      'a ConfigMap without the label for certificates',
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ca}\ndata: {}\n---\n${endpoint(TO_PRIVATE)}`,
      '0.yaml:18 error Endpoint default/orders spec.forward.tls.caRef.name: There is no ConfigMap ca with the label standin.dev/upstream-ca: "true" in this namespace: create it, or add the label (kubectl label configmap ca -n default standin.dev/upstream-ca=true).',
    ],
    [
      'a ConfigMap with a private key',
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ca, labels: {standin.dev/upstream-ca: "true"}}\ndata: {ca.crt: "-----BEGIN PRIVATE KEY-----"}\n---\n${endpoint(TO_PRIVATE)}`,
      '0.yaml:18 error Endpoint default/orders spec.forward.tls.caRef.key: The data key ca.crt of ConfigMap ca contains a private key: remove it, issue another one because many can read ConfigMaps, and set only certificates.',
    ],
    [
      'an expression in a mock without a template',
      endpoint('  slug: /v1/{id}\n  method: GET\n  action: JSON\n  json: {body: \'{"id": "${path.id}"}\'}\n'),
      '0.yaml:11 warning Endpoint default/orders spec.json.body: contains ${path.id}, which is returned as it is written: to replace it, set spec.json.template to CEL',
    ],
    [
      'an expression in a header of a response without a template',
      endpoint(
        `${MOCK}  responses:\n  - {name: a, when: {headers: [{name: a, type: Present}]}, body: "{}", headers: [{name: x, value: "\${ request.body }"}]}\n`,
      ),
      '0.yaml:13 warning Endpoint default/orders spec.responses[0].headers[0].value: contains ${ request.body }, which is returned as it is written: to replace it, set spec.responses[0].template to CEL',
    ],
    [
      'a header name that no request has',
      endpoint(`${MOCK}  responses:\n  - {name: a, when: {cel: "request.headers['X-Plan'] == 'gold'"}, body: "{}"}\n`),
      '0.yaml:13 warning Endpoint default/orders spec.responses[0].when.cel: reads the header X-Plan, which is always absent, because header names in expressions are in lower case: write x-plan',
    ],
    [
      'an unknown field without a value',
      endpoint(`${MOCK}  slgu:\n`),
      '0.yaml:12 error Endpoint default/orders spec.slgu: unknown field "spec.slgu"',
    ],
    [
      'an unknown field of the metadata',
      endpoint(MOCK).replace('metadata:\n', 'metadata:\n  lables: {team: shop}\n'),
      '0.yaml:4 error Endpoint default/orders metadata.lables: unknown field "metadata.lables"',
    ],
    [
      'a body that is not JSON',
      endpoint('  slug: /v1\n  method: GET\n  action: JSON\n  json:\n    body: "{a}"\n'),
      '0.yaml:12 error Endpoint default/orders spec.json.body: is not a JSON document: expected a key in double quotes or }, found a at line 1, column 2',
    ],
    [
      'a slug without /',
      endpoint(MOCK.replace('/v1', 'v1')),
      '0.yaml:8 error Endpoint default/orders spec.slug: must begin with /',
    ],
    [
      'the method HEAD',
      endpoint(MOCK.replace('GET', 'HEAD')),
      '0.yaml:9 error Endpoint default/orders spec.method: Unsupported value: "HEAD"',
    ],
    [
      'a forward to a private address',
      endpoint('  slug: /v1\n  method: GET\n  action: Forward\n  forward:\n    url: http://10.0.0.1/\n'),
      '0.yaml:12 error Endpoint default/orders spec.forward.url: the address 10.0.0.1 is private',
    ],
    [
      'a header with CR and LF',
      endpoint(
        '  slug: /v1\n  method: GET\n  action: JSON\n  json:\n    body: "1"\n    headers:\n      - name: a\n        value: "b\\r\\nc: d"\n',
      ),
      '0.yaml:15 error Endpoint default/orders spec.json.headers[0].value: must not contain line breaks',
    ],
    [
      'a body of 300 kB',
      endpoint(`  slug: /v1\n  method: GET\n  action: JSON\n  json:\n    body: '"${'a'.repeat(300_000)}"'\n`),
      '0.yaml:12 error Endpoint default/orders spec.json.body: Too long',
    ],
    [
      'a name that is too long',
      endpoint(MOCK, 'a'.repeat(254)),
      `0.yaml:4 error Endpoint default/${'a'.repeat(254)} metadata.name: must be no more than 253 characters`,
    ],
    ['no name', `${HEAD}kind: Endpoint\nspec: {}\n`, '0.yaml:1 error Endpoint default/ metadata.name: Required value'],
    ['text', 'just text\n', '0.yaml:1 error  : must be a mapping'],
    ['text that is not YAML', 'a: 1\nb: [\n', '0.yaml:3 error  : is not YAML'],
    [
      'a project whose account is missing',
      `${HEAD}kind: Project\nmetadata: {name: lone}\nspec:\n  accountRef:\n    name: nobody\n`,
      '0.yaml:6 error Project default/lone spec.accountRef.name: There is no Account nobody',
    ],
    [
      'an object of a different API',
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n',
      '0.yaml:1 warning Deployment a apiVersion: apps/v1 Deployment is not a Standin object',
    ],
  ])('reports %s', (_, text, finding) => {
    expect(validate([text]).map(shown)[0]).toContain(finding);
  });

  it('reports the later of two endpoints with the same method and slug', () => {
    expect(validate([endpoint(MOCK, 'first'), endpoint(MOCK, 'second')]).map(shown)).toEqual([
      expect.stringContaining(
        '1.yaml:8 error Endpoint default/second spec.slug: Endpoint default/first is older and already answers GET /v1',
      ),
    ]);
  });

  it('reports an object that exists twice', () => {
    expect(validate([endpoint(MOCK), endpoint(MOCK)]).map(shown)).toEqual([
      expect.stringContaining('1.yaml:4 error Endpoint default/orders metadata.name: is already defined in 0.yaml:1'),
    ]);
  });

  it('reports a broken document without affecting the others in the same file', () => {
    const findings = validate([
      [endpoint(MOCK), 'a: [\n', endpoint(MOCK.replace('/v1', '/v2'), 'other')].join('---\n'),
    ]);
    expect(findings.map(({ message }) => message)).toEqual([expect.stringContaining('is not YAML')]);
  });
});

it('a problem is reported once, and not for the objects that refer to it', () => {
  const text = ACCOUNT.replace('spec: {}', 'spec: {plan: Gold}');
  const files = [{ name: 'a.yaml', text: [text, PROJECT, endpoint(MOCK)].join('---\n') }];
  expect(validateManifests(files, SETTINGS).map(shown)).toEqual([
    'a.yaml:4 error Account default/default spec.plan: Unsupported value: "Gold": supported values: "Free", "Pro"',
  ]);
});

it('all problems of an object are reported, each with its line', () => {
  const text = endpoint(
    [
      '  slug: /v1/{id}',
      '  method: GET',
      '  action: JSON',
      '  colour: red',
      '  json: {body: "{"}',
      '  responses:',
      '  - {name: a, status: 99, template: CEL, body: "${path.nope}"}',
      '  - {name: b, body: {a: 1}}',
      '  - {name: c, body: "[", headers: [{name: "a b", value: c}]}',
      '  - {name: d, when: {headers: [{name: x, type: RegularExpression, value: "("}]}, body: "]"}',
      '  forward: {url: "http://10.0.0.1", timeout: 1h}',
      '',
    ].join('\n'),
  ).replace('{name: shop}', '{name: shopp}');
  const expected = [
    '6 error Endpoint default/orders spec.projectRef.name: There is no Project shopp in this namespace: did you mean shop?',
    '11 error Endpoint default/orders spec.colour: unknown field "spec.colour"',
    '12 error Endpoint default/orders spec.json.body: is not a JSON document',
    '14 error Endpoint default/orders spec.responses[0].status: should be greater than or equal to 200',
    '14 error Endpoint default/orders spec.responses[0].body: has an error in ${path.nope} at line 1, column 7',
    '15 error Endpoint default/orders spec.responses[1].body: must be of type string: "object": put it in quotes',
    '16 error Endpoint default/orders spec.responses[2].headers[0].name: must be an HTTP token',
    '17 error Endpoint default/orders spec.responses[3].body: is not a JSON document',
    '17 error Endpoint default/orders spec.responses[3].when.headers[0].value: is not a regular expression',
    '18 error Endpoint default/orders spec.forward.timeout: must be',
  ];
  const lines = validate([text]).map((finding) => shown(finding).replace('0.yaml:', ''));
  expect(lines.map((line, index) => line.slice(0, expected[index]?.length))).toEqual(expected);
});

it('a file that is not text is reported with its line', () => {
  const problem = { line: 3, message: 'is not UTF-8' };
  expect(validateManifests([{ name: 'a.yaml', text: '', problem }], SETTINGS).map(shown)).toEqual([
    'a.yaml:3 error  : is not UTF-8',
  ]);
});

it('a missing reference is a warning if the files are only a part of the cluster’s objects', () => {
  const files = [{ name: 'a.yaml', text: endpoint(MOCK) }];
  expect(validateManifests(files, SETTINGS)).toMatchObject([{ severity: 'error', path: 'spec.projectRef.name' }]);
  expect(validateManifests(files, SETTINGS, { missingReferences: 'warning' })).toMatchObject([{ severity: 'warning' }]);
});

it.each([
  ['too short', 'stringData: {api-key: short}', 'the key has 5 characters'],
  ['without the data key', 'stringData: {key: a}', 'with the data key api-key'],
  [
    'encoded, with a line break',
    `data: {api-key: ${Buffer.from(`${'a'.repeat(40)}\n`).toString('base64')}}`,
    'whitespace',
  ],
])('a user-provided key that is %s is reported for its Account', (_, data, message) => {
  const own = ACCOUNT.replace('spec: {}', 'spec: {apiKey: {secretName: own}}');
  const text = `${own}---\napiVersion: v1\nkind: Secret\nmetadata: {name: own}\n${data}\n`;
  expect(validateManifests([{ name: 'a.yaml', text }], SETTINGS)).toMatchObject([
    {
      object: 'Account default/default',
      path: 'spec.apiKey.secretName',
      message: expect.stringContaining(message) as string,
    },
  ]);
});

it.each([['quickstart'], ['quickstart', 'forward'], ['own-key'], ['signatures'], ['operations']])(
  'the examples are valid: %s %s',
  (...folders) => {
    const files = folders.flatMap((folder) =>
      readdirSync(path.join(EXAMPLES, folder)).map((name) => ({
        name: `${folder}/${name}`,
        text: readFileSync(path.join(EXAMPLES, folder, name), 'utf8'),
      })),
    );
    expect(validateManifests(files, SETTINGS).filter(({ severity }) => severity === 'error')).toEqual([]);
  },
);

describe('headers for upstreams from Secrets', () => {
  const ORIGINS = 'https://api.example.com, https://other.example';
  const forward = (url: string, more = ''): string =>
    endpoint(
      `  slug: /v1\n  method: GET\n  action: Forward\n  forward:\n    url: ${url}\n${more}` +
        '    requestHeaders: {set: [{name: authorization, valueFrom: {secretRef: {name: up, key: k}}}]}\n',
    );
  const secret = (data: string, { label = 'true', origins = ORIGINS } = {}): string =>
    `apiVersion: v1\nkind: Secret\nmetadata:\n  name: up\n  labels: {standin.dev/upstream-credential: "${label}"}\n` +
    `  annotations: {standin.dev/upstream-origins: "${origins}"}\nstringData: ${data}\n`;
  const upstream = forward('https://api.example.com/v1');

  it.each([
    ['a value', upstream, secret('{k: sesame}')],
    ['a URL that names the default port', forward('https://API.example.com:443/v1'), secret('{k: sesame}')],
    ['no Secret, which may exist in the cluster', upstream, ''],
  ])('are accepted with %s', (_what, text, given) => {
    expect(validate([text, given])).toEqual([]);
  });

  it.each([
    ['no label', upstream, secret('{k: sesame}', { label: 'false' }), 'does not have the label'],
    ['no annotation', upstream, secret('{k: sesame}', { origins: '' }), 'kubectl annotate secret up -n default'],
    ['another origin', forward('https://api.example.org'), secret('{k: sesame}'), 'is not for https://api.example.org'],
    ['http', forward('http://api.example.com'), secret('{k: sesame}', { origins: 'http://api.example.com' }), 'https'],
    ['http and no Secret', forward('http://api.example.com'), '', 'https'],
    ['the Host header of callers', forward('https://api.example.com', '    host: Preserve\n'), '', 'spec.forward.host'],
    ['a line break in the value', upstream, secret('{k: "sesame\\nb: c"}'), 'a control character'],
    ['a line break at the end of the value', upstream, secret('{k: "sesame\\n"}'), 'ends with a line break'],
    ['another data key', upstream, secret('{other: sesame}'), 'data key k of Secret up does not exist'],
  ])('are refused with %s', (_what, text, given, message) => {
    const found = validate([text, given]);
    expect(found.map((one) => [one.object, one.message])).toEqual([
      ['Endpoint default/orders', expect.stringContaining(message) as string],
    ]);
    expect(JSON.stringify(found)).not.toContain('sesame');
  });
});

describe('signing secrets', () => {
  const allowed = ACCOUNT.replace('spec: {}', 'spec: {signatures: Allowed}');
  const signed = endpoint(
    `${MOCK}  credential: {type: Signature, signature: {scheme: GitHub, secretRefs: [{name: gh, key: k}]}}\n`,
  );
  const secret = (data: string, labels = '{standin.dev/signing-secret: "true"}'): string =>
    `apiVersion: v1\nkind: Secret\nmetadata: {name: gh, labels: ${labels}}\n${data}\n`;
  const findings = (...texts: string[]) =>
    validateManifests([{ name: 'all.yaml', text: [PROJECT, ...texts].join('---\n') }], SETTINGS);

  it.each([
    ['a value', secret('stringData: {k: sesame}')],
    ['an encoded value', secret('data: {k: c2VzYW1l}')],
    ['no Secret, which may exist in the cluster', ''],
  ])('are accepted with %s', (_what, text) => {
    expect(findings(allowed, signed, text)).toEqual([]);
  });

  it.each([
    ['no label', secret('stringData: {k: sesame}', '{}'), 'does not have the label'],
    ['another data key', secret('stringData: {other: sesame}'), 'data key k of Secret gh does not exist'],
    ['a line break at the end of the value', secret('stringData: {k: "sesame\\n"}'), 'ends with a line break'],
    ['an empty value', secret('stringData: {k: ""}'), 'is empty'],
  ])('are refused with %s', (_what, text, message) => {
    const found = findings(allowed, signed, text);
    expect(found.map((one) => [one.object, one.message])).toEqual([
      ['Endpoint default/orders', expect.stringContaining(message) as string],
    ]);
    expect(JSON.stringify(found)).not.toContain('sesame');
  });

  it('of Standard Webhooks are refused if they are not Base64', () => {
    const standard = signed.replace('GitHub', 'StandardWebhooks');
    expect(findings(allowed, standard, secret('stringData: {k: whsec_c2VzYW1l}'))).toEqual([]);
    expect(findings(allowed, standard, '')).toEqual([]);
    expect(findings(allowed, standard, secret('stringData: {k: sesame}')).map(({ message }) => message)).toEqual([
      expect.stringContaining('is not Base64') as string,
    ]);
  });

  it('are refused without the permission of the Account', () => {
    expect(findings(ACCOUNT, signed)).toMatchObject([{ path: 'spec.credential', severity: 'error' }]);
  });
});
