import { describe, expect, it } from 'vitest';
import { problemLines, readEditedManifest } from './edited-manifest.ts';

const REF = { kind: 'Endpoint', namespace: 'team-a', name: 'orders' } as const;
const read = (text: string, namespaceDefault = 'team-a') => readEditedManifest({ text, ref: REF, namespaceDefault });

const TEXT = `apiVersion: standin.dev/v1alpha1
kind: Endpoint
metadata:
  name: orders # the one
  labels: {team: a}
spec:
  slug: /orders
`;
const HEAD = TEXT.split('\n').slice(0, 4).join('\n');

describe('an edited manifest', () => {
  it('is the object with the labels, annotations and spec of the text', () => {
    expect(read(TEXT)).toEqual({
      ok: true,
      object: {
        apiVersion: 'standin.dev/v1alpha1',
        kind: 'Endpoint',
        metadata: { name: 'orders', namespace: 'team-a', labels: { team: 'a' } },
        spec: { slug: '/orders' },
      },
    });
  });

  it.each([
    ['', 1, 'The text must contain the Endpoint orders.'],
    ['- a\n', 1, 'The text must contain the Endpoint orders.'],
    [`${TEXT}---\n${TEXT}`, 9, 'The text must contain only one object. Remove the others.'],
    [
      TEXT.replace('kind: Endpoint', 'kind: Project'),
      2,
      'kind: must be Endpoint. The kind of an object cannot be changed',
    ],
    [
      TEXT.replace('orders #', 'other #'),
      4,
      'metadata.name: must be orders. An object cannot be renamed. Duplicate it instead',
    ],
    [
      `${HEAD}\n  namespace: team-b\n`,
      5,
      'metadata.namespace: must be team-a. An object cannot be moved to another namespace',
    ],
    [`${HEAD}\n  uid: '1'\n`, 5, 'metadata.uid: cannot be changed here. Remove it'],
    [
      `${HEAD}\n  labels: {a: 1}\n`,
      5,
      'metadata.labels: must be a map of strings to strings. Put numbers and booleans in quotes',
    ],
    [`${TEXT}status: {}\n`, 8, 'status: is written by the operator. Remove it'],
    [`${TEXT}stauts: {}\n`, 8, 'stauts: is not a field of an object. Remove it'],
  ])('is refused: %j', (text, line, message) => {
    expect(read(text)).toEqual({ ok: false, problems: [{ line, message }] });
  });

  it('is refused if it is not YAML, with the line', () => {
    const result = read(`${HEAD}\nspec: [\n`);
    expect(result).toMatchObject({
      ok: false,
      problems: [{ message: expect.stringMatching(/^Not YAML: /) as string }],
    });
  });

  it('in a file means the default namespace if it names none', () => {
    expect(read(TEXT, 'default')).toMatchObject({ ok: false });
    expect(read(TEXT.replace('  labels', '  namespace: team-a\n  labels'), 'default')).toMatchObject({ ok: true });
  });
});

it('problems are shown at the lines of their fields, or of the nearest parent, from the top', () => {
  const problems = [
    { path: 'spec.slug', message: 'must begin with /' },
    { path: 'metadata.name', message: 'is too long' },
    { path: 'spec.json.body', message: 'Required value' },
    { path: '', message: 'Something else' },
  ];
  expect(problemLines(TEXT, problems)).toEqual([
    { line: undefined, message: 'Something else' },
    { line: 4, message: 'metadata.name: is too long' },
    { line: 7, message: 'spec.slug: must begin with /' },
    { line: 7, message: 'spec.json.body: Required value' },
  ]);
});
