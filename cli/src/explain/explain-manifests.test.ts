import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { hasControls } from '@standin/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatLine } from '../terminal.ts';
import { explainManifests } from './explain-manifests.ts';

const object = (kind: string, name: string, spec: object) => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});
const mock = { displayName: 'x', action: 'JSON', json: { body: '{}' } };
const PLAN = [
  {
    name: 'gold',
    when: { headers: [{ name: 'X-Plan', value: 'gold' }], queryParams: [{ name: 'a', type: 'Present' }] },
    body: '1',
  },
  { name: 'silver', when: { headers: [{ name: 'X-Plan', value: 'silver' }] }, body: '2' },
  { name: 'seven', when: { pathParams: [{ name: 'id', value: '7' }] }, body: '3' },
];
const endpoint = (name: string, slug: string, more: object = {}) =>
  object('Endpoint', name, { projectRef: { name: 'shop' }, slug, method: 'GET', ...mock, ...more });
const FORWARD = { action: 'Forward', forward: { url: 'http://localhost:9000' }, json: undefined };

let folder: string;
const write = (name: string, ...objects: readonly object[]): Promise<void> =>
  writeFile(path.join(folder, name), objects.map((one) => JSON.stringify(one)).join('\n---\n'));

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'standin-explain-'));
  await write(
    'shop.yaml',
    object('Account', 'default', {}),
    object('Project', 'shop', { displayName: 'x', accountRef: { name: 'default' }, uri: 'shop-k3v9k3v9k3v9' }),
    endpoint('get-order', '/v1/orders/{id}', { responses: PLAN }),
    endpoint('create-order', '/v1/orders', { method: 'POST', ...FORWARD }),
  );
});
afterAll(() => rm(folder, { recursive: true }));

const explained = async (target: string, options: object = {}): Promise<readonly string[]> => {
  const { lines, warnings } = await explainManifests([folder], { path: target, ...options });
  return [...warnings, ...lines].map((line) => formatLine(line));
};

describe('the text of an explanation', () => {
  test('names the endpoint and the response, and the earlier ones with their unmet conditions', async () => {
    expect(await explained('/v1/orders/7?b', { header: [['x-plan', 'free']] })).toEqual([
      'endpoint  default/get-order (GET /v1/orders/{id})',
      'response  seven',
      'not       silver: 1 unmet condition',
      '          The header x-plan is "free". It must be "silver".',
      'not       gold: 2 unmet conditions',
      '          The header x-plan is "free". It must be "gold".',
      '          The query parameter a is missing.',
    ]);
  });

  test.each<[string, object, readonly string[]]>([
    ['/v1/orders/8', {}, ['response  the mock in spec.json, because no response matches']],
    ['/v1/orders', { body: '{}' }, ['response  the upstream in spec.forward; the endpoint has no responses']],
    [
      '/v1/orders/7',
      { method: 'PUT' },
      [
        'rejected  405 method_not_allowed: the path matches, but no endpoint has this method',
        'other     default/get-order (GET /v1/orders/{id}) matches the path, but has a different method',
      ],
    ],
    [
      '/v1/order/7',
      {},
      [
        'rejected  404 endpoint_not_found: no slug in the project matches the path',
        'other     default/get-order (GET /v1/orders/{id}) has a similar path',
      ],
    ],
    // The project URI, and one that the operator could derive from a uid.
    ['/shop-k3v9k3v9k3v9/v1/orders/7', {}, ['response  seven']],
    ['/0123456789abcdefghjk/v1/orders/7', {}, ['response  seven']],
    [
      '/other-k3v9k3v9k3v9/v1/orders/7',
      {},
      ['rejected  404 endpoint_not_found: no slug in the project matches the path'],
    ],
  ])('for %s %j contains %j', async (target, options, expected) => {
    expect(await explained(target, options)).toEqual(expect.arrayContaining([...expected]));
  });

  test('escapes control characters from the request', async () => {
    const lines = await explained('/v1/orders/%1b%5b2J', { header: [['x-plan', '\x9b\n::error::']] });
    expect(lines.join('')).toMatch(/"\\u001b\[2J"/);
    expect(hasControls(lines.join(''))).toBe(false);
  });
});

test('the text has the delay and the error of a template', async () => {
  const delay = { type: 'Uniform', uniform: { min: '1s', max: '2s' } };
  const json = { body: '"${request.query.a}"', template: 'CEL', delay };
  await write('template.yaml', endpoint('template', '/template', { json }));
  expect((await explained('/template')).slice(1)).toEqual([
    'response  the mock in spec.json; the endpoint has no responses',
    'template  fails for this request, so the response is a 500: body: ${request.query.a} at line 1, column 2: there is no field a',
  ]);
  const [, , template, shown] = await explained('/template?a=1');
  expect(template).toBe('template  CEL: all expressions have values for this request');
  expect(shown).toMatch(/^delay {5}[12]\.\d s \(Uniform: each request has its own\)$/);
  await rm(path.join(folder, 'template.yaml'));
});

test('a second project has to be chosen, by name or by the URI in the path', async () => {
  await write(
    'other.yaml',
    object('Project', 'other', { displayName: 'x', accountRef: { name: 'default' }, uri: 'other-k3v9k3v9k3v9' }),
    endpoint('theirs', '/v1/orders/{id}', { projectRef: { name: 'other' } }),
  );
  const THEIRS = 'endpoint  default/theirs (GET /v1/orders/{id})';
  await expect(explained('/v1/orders/7')).rejects.toThrow('specify a project: -n default -p other, -n default -p shop');
  expect(await explained('/v1/orders/7', { project: 'other' })).toContain(THEIRS);
  expect(await explained('/other-k3v9k3v9k3v9/v1/orders/7')).toContain(THEIRS);
  await expect(explained('/v1', { project: 'nope' })).rejects.toThrow(
    'there is no project "nope"; available projects: other, shop',
  );
  await expect(explained('/v1', { namespace: 'team-a' })).rejects.toThrow(
    'the manifests contain no valid Project in namespace team-a',
  );
  await rm(path.join(folder, 'other.yaml'));
});

test('objects with errors do not respond, with a warning', async () => {
  await write('broken.yaml', endpoint('broken', '/v1/broken', { json: { body: '{' } }));
  const [warning, ...lines] = await explained('/v1/broken');
  expect(warning).toBe(`standin: ${folder} has 1 error, and objects with errors do not respond: see standin validate`);
  expect(lines[0]).toContain('503 endpoint_not_accepted');
  expect(lines[1]).toContain('default/broken (GET /v1/broken)');
  expect(lines).toHaveLength(2);
  await rm(path.join(folder, 'broken.yaml'));
});

test('JSON contains the project and the unmet conditions', async () => {
  const { json } = await explainManifests([folder], { path: '/v1/orders/8' });
  expect(json).toMatchObject({
    project: { namespace: 'default', name: 'shop' },
    endpoint: { name: 'get-order', slug: '/v1/orders/{id}', action: 'JSON' },
    unmatched: [
      { name: 'silver', unmet: [{ on: 'headers', name: 'x-plan', type: 'Exact', value: 'silver', seen: [] }] },
      { name: 'seven', unmet: [{ on: 'pathParams', seen: ['8'], seenCount: 1 }] },
      { name: 'gold' },
    ],
  });
});
