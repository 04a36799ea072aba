import { describe, expect, it } from 'vitest';
import { readManifest } from './manifest-objects.ts';
import { ManifestTree } from './manifest-tree.ts';

const endpoint = (name: string, slug = '/a') =>
  `apiVersion: standin.dev/v1alpha1\nkind: Endpoint\nmetadata: {name: ${name}}\nspec: {slug: ${slug}}\n`;

describe('readManifest', () => {
  it.each(['', '""', 'null', 'default'])(
    'reads namespace: %s as the namespace default, as kubectl does',
    (namespace) => {
      const text = endpoint('a').replace('name: a', `name: a, namespace: ${namespace}`);
      expect(readManifest(text, 'f.yaml').objects).toMatchObject([{ key: 'Endpoint/default/a' }]);
    },
  );

  it('reads labels and annotations without a value as empty text, as the API server does', () => {
    const text = endpoint('a').replace('name: a', 'name: a, labels: {team: }, annotations: {note: null, more: text}');
    const metadata = { labels: { team: '' }, annotations: { note: '', more: 'text' } };
    expect(readManifest(text, 'f.yaml')).toMatchObject({ objects: [{ metadata }], problems: [] });
  });

  it.for([
    ['kind: Endpoint\n', 'f.yaml:1', 'apiVersion must be standin.dev/v1alpha1'],
    ['apiVersion: standin.dev/v2\nkind: Endpoint\n', 'f.yaml:1', 'apiVersion must be standin.dev/v1alpha1'],
    [
      'apiVersion: standin.dev/v1alpha1\nkind: Endpiont\n',
      'f.yaml:2',
      'unknown kind "Endpiont" (standin.dev/v1alpha1); the kinds are Account, Project and Endpoint: did you mean Endpoint?',
    ],
    [
      '\napiVersion: apps/v1\nkind: Deployment\n',
      'f.yaml:3',
      'kind "Deployment" (apps/v1) is not a Standin kind; Standin reads Account, Project, Endpoint and Secret objects',
    ],
    [
      'apiVersion: argoproj.io/v1alpha1\nkind: Project\n',
      'f.yaml:2',
      'kind "Project" (argoproj.io/v1alpha1) is not a Standin kind; a Project of Standin has the apiVersion standin.dev/v1alpha1',
    ],
    ['apiVersion: standin.de/v1alpha1\nkind: Project\n', 'f.yaml:1', 'apiVersion must be standin.dev/v1alpha1'],
    [
      'name: x\n',
      'f.yaml:1',
      'object without a kind and apiVersion is not a Standin kind; Standin reads Account, Project, Endpoint and Secret objects',
    ],
    [
      'apiVersion: standin.dev/v1alpha1\nkind: Replay\nmetadata: {name: a}\n',
      'f.yaml:2',
      'a Replay is a one-time operation, not a manifest: use standin replay, or the dashboard',
    ],
    [
      'apiVersion: standin.dev/v1alpha1\nkind: KeyRegeneration\nmetadata: {name: a}\n',
      'f.yaml:2',
      'a KeyRegeneration is a one-time operation, not a manifest: use standin key regenerate, or the dashboard',
    ],
    ['- a\n', 'f.yaml:1', 'must be a mapping with apiVersion, kind, metadata and spec'],
    ['apiVersion: standin.dev/v1alpha1\nkind: Endpoint\n', 'f.yaml:1', 'metadata must be a mapping with a name'],
    [
      'apiVersion: standin.dev/v1alpha1\nkind: Endpoint\nmetadata:\n  name: 12\n',
      'f.yaml:4',
      'metadata.name must be text; put a number in quotes',
    ],
    [
      'apiVersion: standin.dev/v1alpha1\nkind: Endpoint\nmetadata:\n  name: a\n  labels: {a: 1}\n',
      'f.yaml:5',
      'metadata.labels must be a map of strings to strings; put numbers and booleans in quotes',
    ],
    [
      'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  a: 1\n',
      'f.yaml:4',
      'stringData of a Secret must be a map of strings to strings; put numbers in quotes',
    ],
  ] as const)('reports what to change in %j', ([text, where, message]) => {
    const line = Number(where.split(':')[1]);
    const { problems, objects } = readManifest(text, 'f.yaml');
    expect(objects).toEqual([]);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toBe(message);
    expect(Math.abs(Number(problems[0]?.where.split(':')[1]) - line)).toBeLessThanOrEqual(1);
  });

  it('reports all mistakes of a document', () => {
    const metadata = '{name: 1, namespace: 2, labels: {a: 1}, annotations: {b: true}}';
    const text = `${endpoint('a').replace('{name: a}', metadata)}---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: 1\nstringData: {a: 1}\n`;
    const { problems } = readManifest(text, 'f.yaml');
    expect(problems.map(({ message }) => message.split(' ', 1)[0])).toEqual([
      ...['metadata.name', 'metadata.namespace', 'metadata.labels', 'metadata.annotations'],
      ...['spec.projectRef:', 'spec.displayName:', 'spec.method:', 'spec.action:'],
      ...['data', 'stringData'],
    ]);
  });

  it('ignores an invalid document without affecting others', () => {
    const text = `${endpoint('a')}---\nkind: Nothing\n---\n${endpoint('b')}---\n# nothing\n`;
    const { objects, problems, broken } = readManifest(text, 'f.yaml');
    expect(objects.map(({ key, where }) => [key, where])).toEqual([
      ['Endpoint/default/a', 'f.yaml:1'],
      ['Endpoint/default/b', 'f.yaml:8'],
    ]);
    expect(problems).toHaveLength(1);
    expect(broken).toBe(false);
  });

  it('reads ConfigMaps with the label for certificates, and no others', () => {
    const text =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ca, namespace: shop, labels: {standin.dev/upstream-ca: "true"}}\n';
    const { configMaps, problems } = readManifest(`${text}data: {ca.crt: ""}\n`, 'f.yaml');
    expect(problems).toEqual([]);
    expect(configMaps).toMatchObject([
      {
        key: 'ConfigMap/shop/ca',
        configMap: {
          namespace: 'shop',
          name: 'ca',
          data: { 'ca.crt': { problem: expect.stringMatching(/empty/) as string } },
        },
      },
    ]);
    expect(readManifest(text.replace('"true"', '"false"'), 'f.yaml')).toMatchObject({
      configMaps: [],
      problems: [
        {
          message:
            'kind "ConfigMap" (v1) is not a Standin kind; Standin reads only ConfigMaps with the label standin.dev/upstream-ca: "true"',
        },
      ],
      broken: false,
    });
    expect(readManifest(`${text}data: {ca.crt: 1}\n`, 'f.yaml').problems).toMatchObject([
      { where: 'f.yaml:4', message: 'data of a ConfigMap must be a map of strings to strings; put numbers in quotes' },
    ]);
  });

  it('reads Secrets, stringData before data', () => {
    const text =
      'apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\ndata: {a: eA==, b: eA==}\nstringData: {b: "y"}\n';
    const [secret] = readManifest(text, 'f.yaml').secrets;
    expect(secret?.key).toBe('Secret/shop/s');
    expect([...(secret?.data ?? [])].map(([key, value]) => [key, value.toString()])).toEqual([
      ['a', 'x'],
      ['b', 'y'],
    ]);
  });

  it('keeps unknown fields for the translator and drops a copied status', () => {
    const [object] = readManifest(`${endpoint('a')}status: {x: 1}\nspce: {}\n`, 'f.yaml').objects;
    expect(object?.unknownFields).toEqual({ spce: {} });
  });
});

describe('ManifestTree', () => {
  const read = (file: string, text: string) => readManifest(text, file);
  const keys = (tree: ManifestTree) => [...tree.desired().objects.keys()];

  it('keeps the objects of a broken file, and reports it', () => {
    const tree = new ManifestTree();
    tree.put('a.yaml', read('a.yaml', endpoint('a') + '---\n' + endpoint('b')));
    tree.put('a.yaml', read('a.yaml', `${endpoint('a', '/new')}---\nfoo: [\n`));
    const { objects, problems } = tree.desired();
    expect([...objects.values()].map(({ key, spec }) => [key, spec])).toEqual([
      ['Endpoint/default/a', { slug: '/new' }],
      ['Endpoint/default/b', { slug: '/a' }],
    ]);
    expect(
      problems.some(({ message }) => message.endsWith('1 object(s) keep their last valid version until this is fixed')),
    ).toBe(true);
    // The file is now broken in a different way. The objects are still kept.
    tree.put('a.yaml', read('a.yaml', 'foo: ]\n'));
    expect(keys(tree)).toEqual(['Endpoint/default/a', 'Endpoint/default/b']);
    tree.put('a.yaml', read('a.yaml', endpoint('a')));
    expect(keys(tree)).toEqual(['Endpoint/default/a']);
    expect(tree.desired().problems).toEqual([]);
  });

  it.each([
    ['a kind that does not exist', 'kind: Endpoint', 'kind: Endpont'],
    ['another version', 'standin.dev/v1alpha1', 'standin.dev/v1'],
    ['a misspelled group', 'standin.dev/v1alpha1', 'standindev/v1alpha1'],
    ['a name that is no text', 'name: b', 'name: 404'],
    ['labels that are no texts', 'name: b', 'name: b, labels: {a: 1}'],
    ['a document that is a list', 'apiVersion:', '- apiVersion:'],
  ])('keeps the object of a document with %s', (_, right, wrong) => {
    const tree = new ManifestTree();
    tree.put('a.yaml', read('a.yaml', `${endpoint('a')}---\n${endpoint('b')}`));
    const mistaken = wrong.startsWith('- ') ? '- a\n' : endpoint('b').replace(right, wrong);
    tree.put('a.yaml', read('a.yaml', `${endpoint('a', '/new')}---\n${mistaken}`));
    const { objects, problems } = tree.desired();
    expect([...objects.values()].map(({ key, spec }) => [key, spec])).toEqual([
      ['Endpoint/default/a', { slug: '/new' }],
      ['Endpoint/default/b', { slug: '/a' }],
    ]);
    expect(problems[0]?.message).toMatch(/; 1 object\(s\) keep their last valid version until this is fixed$/);
    tree.put('a.yaml', read('a.yaml', endpoint('a', '/new')));
    expect(keys(tree)).toEqual(['Endpoint/default/a']);
  });

  it.each([
    ['kind', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n'],
    ['API group', 'apiVersion: argoproj.io/v1alpha1\nkind: Project\nmetadata: {name: c}\n'],
  ])('removes an object beside one of another %s', (_, other) => {
    const tree = new ManifestTree();
    tree.put('a.yaml', read('a.yaml', `${endpoint('a')}---\n${other}`));
    tree.put('a.yaml', read('a.yaml', other));
    expect(keys(tree)).toEqual([]);
  });

  it('uses the first of two files with the same object, and the second one after the first is removed', () => {
    const tree = new ManifestTree();
    tree.put('b.yaml', read('b.yaml', endpoint('x', '/b')));
    tree.put('a.yaml', read('a.yaml', endpoint('x', '/a')));
    expect(tree.desired().objects.get('Endpoint/default/x')?.spec).toEqual({ slug: '/a' });
    expect(tree.desired().problems).toEqual([
      { where: 'b.yaml:1', message: 'Endpoint/default/x is already in a.yaml:1; remove one of them' },
    ]);
    tree.remove('a.yaml');
    expect(tree.desired().objects.get('Endpoint/default/x')?.spec).toEqual({ slug: '/b' });
    expect(tree.desired().problems).toEqual([]);
  });

  it('uses an object that was moved out of a file that is broken since', () => {
    const tree = new ManifestTree();
    tree.put('a.yaml', read('a.yaml', `${endpoint('x')}---\n${endpoint('w')}---\n${endpoint('z')}`));
    tree.put('a.yaml', read('a.yaml', `${endpoint('z')}---\nfoo: [\n`));
    tree.put('b.yaml', read('b.yaml', endpoint('x', '/moved')));
    const { objects, problems } = tree.desired();
    expect([...objects.values()].map(({ where, spec }) => [where, spec])).toEqual([
      ['a.yaml:1', { slug: '/a' }],
      ['b.yaml:1', { slug: '/moved' }],
      ['a.yaml:6', { slug: '/a' }],
    ]);
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^not YAML: .*; 1 object\(s\) keep their last valid version until this is fixed$/),
    ]);
    // Another broken file, which kept it first.
    tree.put('b.yaml', read('b.yaml', 'foo: [\n'));
    expect(tree.desired().objects.get('Endpoint/default/x')?.where).toBe('a.yaml:1');
    expect(tree.desired().problems).toHaveLength(2);
  });

  it('keeps the objects of an unreadable file', () => {
    const tree = new ManifestTree();
    tree.put('a.yaml', read('a.yaml', endpoint('a')));
    tree.putUnreadable('a.yaml', { where: 'a.yaml', message: 'cannot be read: EACCES' });
    expect(keys(tree)).toEqual(['Endpoint/default/a']);
    expect(tree.desired().problems[0]?.message).toMatch(
      /^cannot be read: EACCES; \d+ object\(s\) keep their last valid version/,
    );
  });
});
