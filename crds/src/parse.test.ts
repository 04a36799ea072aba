import { LIMITS } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { fixtures } from './fixtures.testing.ts';
import { parseManifest } from './manifest.ts';
import { checkUpdate, parseObject } from './parse.ts';
import { variants } from './variants.testing.ts';

const endpoint = (spec: object) => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind: 'Endpoint',
  metadata: { name: 'orders' },
  spec: { projectRef: { name: 'shop' }, displayName: 'Orders', slug: '/v1', method: 'GET', action: 'JSON', ...spec },
});

const parseProblems = (object: unknown) => {
  const result = parseObject(object);
  return result.ok ? [] : result.problems;
};

describe('the schema', () => {
  it.each(fixtures('accepted'))('accepts the fixture $name', ({ object }) => {
    expect(parseProblems(object)).toEqual([]);
  });

  it.each(fixtures('refused'))('refuses the fixture $name', ({ object, expected }) => {
    expect(expected).not.toEqual([]);
    expect(parseProblems(object)).toEqual(
      expected.map(({ path, message }) => ({ path, message: expect.stringContaining(message) as string })),
    );
  });
});

describe('parseObject', () => {
  it.each([
    [null, ''],
    ['text', ''],
    [[], ''],
    [{}, 'apiVersion'],
    [{ apiVersion: 'v1', kind: 'Endpoint' }, 'apiVersion'],
    [{ apiVersion: 'standin.dev/v1', kind: 'Endpoint' }, 'apiVersion'],
    [{ apiVersion: 'standin.dev/v1alpha1' }, 'kind'],
    [{ apiVersion: 'standin.dev/v1alpha1', kind: 'Mock' }, 'kind'],
    [{ apiVersion: 'standin.dev/v1alpha1', kind: 'toString' }, 'kind'],
  ])('refuses %j because of its %s', (object, path) => {
    expect(parseProblems(object)).toEqual([expect.objectContaining({ path })]);
  });

  it('truncates a value in a message', () => {
    const [problem] = parseProblems(endpoint({ method: 'X'.repeat(10_000), json: { body: '1' } }));
    expect(problem?.message.length).toBeLessThan(200);
  });
});

it('reports a misspelled field before the required one that is missing', () => {
  const problems = parseProblems(endpoint({ slug: undefined, 'sl-ug': '/v1', json: { body: '{}' } }));
  expect(problems.map(({ path }) => path)).toEqual(['spec.sl-ug', 'spec.slug']);
});

it('reports each unknown field, even if its value is null', () => {
  const unknown = variants(fixtures('accepted').map(({ object }) => object)).filter(({ what }) =>
    what.includes('slgu'),
  );
  expect(unknown.length).toBeGreaterThan(50);
  for (const { object, what } of unknown)
    expect(
      parseProblems(object).map(({ message }) => message),
      what,
    ).toContainEqual(expect.stringMatching(/^unknown field "[^"]*slgu"(?:: did you mean slug\?)?$/));
});

it.each(['labels', 'annotations'])('refuses %s whose values are not text, as YAML may read them', (field) => {
  const withField = (value: unknown) => ({
    ...endpoint({ json: { body: '{}' } }),
    metadata: { name: 'a', [field]: value },
  });
  for (const value of [{ version: '1' }, { version: null }, {}, null])
    expect(parseProblems(withField(value))).toEqual([]);
  for (const value of [{ version: 1 }, { enabled: true }, 'version=1', ['version']])
    expect(parseProblems(withField(value))).toEqual([
      { path: `metadata.${field}`, message: 'must be a map of strings to strings: put other values in quotes' },
    ]);
});

it.each([
  ['spec.jsno', { jsno: { body: '{}' } }, 'json'],
  ['spec.displayname', { displayname: 'a' }, 'displayName'],
  ['spec.forward.fallbak', { forward: { url: 'http://a', fallbak: {} } }, 'fallback'],
  ['spec.forward.serviceRef.prot', { forward: { serviceRef: { name: 'a', port: 1, prot: 2 } } }, 'port'],
  ['spec.responses[1].when.header', { responses: [{ name: 'a' }, { name: 'b', when: { header: [] } }] }, 'headers'],
  ['spec.weather', { weather: 1 }, undefined],
])('suggests the field that %s is probably meant to be', (path, spec, field) => {
  const suggestion = field === undefined ? '' : `: did you mean ${field}?`;
  expect(parseProblems(endpoint({ json: { body: '{}' }, ...spec }))).toContainEqual({
    path,
    message: `unknown field "${path}"${suggestion}`,
  });
});

it('suggests fields beside the spec', () => {
  const object = { ...endpoint({ json: { body: '{}' } }), metadata: { name: 'a', lables: {} }, spce: {} };
  expect(parseProblems(object)).toEqual([
    { path: 'spce', message: 'unknown field "spce": did you mean spec?' },
    { path: 'metadata.lables', message: 'unknown field "metadata.lables": did you mean labels?' },
  ]);
});

it.each([
  [
    'json',
    '{body: {a: 1}}',
    'body',
    'must be of type string: "object": put it in quotes, or write it as a block after |',
  ],
  ['json', '{body: [1]}', 'body', 'must be of type string: "array": put it in quotes, or write it as a block after |'],
  ['json', '{body: 404}', 'body', 'must be of type string: "integer": put it in quotes'],
  ['json', '{body: 1.5}', 'body', 'must be of type string: "number": put it in quotes'],
  ['json', '{body: true}', 'body', 'must be of type string: "boolean": put it in quotes'],
  [
    'json',
    '{body: "1", headers: [{name: x-a, value: 404}]}',
    'headers[0].value',
    'must be of type string: "integer": put it in quotes',
  ],
  ['json', '{body: "1", status: "404"}', 'status', 'must be of type integer: "string": remove the quotes'],
  ['json', '{body: "1", status: "ok"}', 'status', 'must be of type integer: "string"'],
])('says what to put in quotes in %s: %s', (block, yaml, field, message) => {
  const { documents } = parseManifest(`${block}: ${yaml}`);
  expect(parseProblems(endpoint(documents[0]?.value as object))).toContainEqual({
    path: `spec.${block}.${field}`,
    message,
  });
});

it('explains the name of a field that YAML reads as a boolean', () => {
  const { documents } = parseManifest('on: [Timeout]');
  const forward = { url: 'https://a.example', fallback: documents[0]?.value };
  expect(parseProblems(endpoint({ forward, json: { body: '{}' } }))).toContainEqual({
    path: 'spec.forward.fallback.true',
    message:
      'unknown field "spec.forward.fallback.true": in YAML, on means true; write the name of the field in quotes ("on")',
  });
});

// A call takes at most about 100,000 arguments, so passing all problems to one call would cause a RangeError.
it('reports every problem in an object with hundreds of problems', () => {
  const fields = Array.from({ length: 150_000 }, (_, index) => [`unknown${index}`, 1] as const);
  const problems = parseProblems(endpoint(Object.fromEntries(fields)));
  expect(problems.filter(({ message }) => message.startsWith('unknown field'))).toHaveLength(150_000);
});

describe('a mock body', () => {
  const ofBytes = (bytes: number): string => JSON.stringify('a'.repeat(bytes - 2));

  it('can be as large as the annotation that kubectl writes allows', () => {
    expect(parseProblems(endpoint({ json: { body: ofBytes(LIMITS.mockBodyBytesMax) } }))).toEqual([]);
  });

  it('is measured in bytes, not characters', () => {
    const body = JSON.stringify('é'.repeat(LIMITS.mockBodyBytesMax / 2));
    expect(parseProblems(endpoint({ json: { body } }))).toEqual([
      { path: 'spec.json.body', message: 'must be no more than 200000 bytes of UTF-8' },
    ]);
  });

  it('cannot be 300 kB', () => {
    expect(parseProblems(endpoint({ json: { body: ofBytes(300_000) } }))[0]).toEqual({
      path: 'spec.json.body',
      message: 'Too long: may not be more than 200000 characters',
    });
  });
});

it('fills in the defaults of a manifest', () => {
  const result = parseObject(endpoint({ action: 'Forward', forward: { serviceRef: { name: 'a', port: 80 } } }));
  expect(result).toMatchObject({
    ok: true,
    value: { spec: { forward: { timeout: '30s', serviceRef: { path: '/', scheme: 'http' } } } },
  });
});

describe('updates', () => {
  const project = { accountRef: { name: 'default' }, retentionDays: 30 };

  it.each([
    ['a changed account', project, { ...project, accountRef: { name: 'other' } }, ['spec.accountRef']],
    ['a changed uri', { ...project, uri: 'a'.repeat(16) }, { ...project, uri: 'b'.repeat(16) }, ['spec.uri']],
    ['a removed uri', { ...project, uri: 'a'.repeat(16) }, project, ['spec.uri']],
    ['an added uri', project, { ...project, uri: 'a'.repeat(16) }, []],
    ['a changed retention', project, { ...project, retentionDays: 1 }, []],
  ])('to a Project are checked for %s', (_, before, after, paths) => {
    expect(checkUpdate('Project', before, after).map(({ path }) => path)).toEqual(paths);
  });
});
