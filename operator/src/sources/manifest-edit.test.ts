import { GROUP_VERSION, type DesiredObject } from '@standin/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editManifest, manifestText, newManifest, removeFromManifest, replaceManifestText } from './manifest-edit.ts';
import { readManifest } from './manifest-objects.ts';

const desired = (spec: unknown, metadata: Partial<DesiredObject['metadata']> = {}): DesiredObject => ({
  apiVersion: GROUP_VERSION,
  kind: 'Endpoint',
  metadata: { name: 'a', namespace: 'default', ...metadata },
  spec,
});

const namesAndSpecs = (text: string) =>
  readManifest(text, 'f.yaml').objects.map(({ metadata, spec }) => [metadata.name, spec]);

const COMMENTED = `# Orders of the shop.
apiVersion: standin.dev/v1alpha1
kind: Endpoint
metadata:
  name: a
spec:
  # The path.
  slug: /v1/orders   # as in the docs
  method: POST

  action: JSON
  json:
    status: 200
    headers:
    - {name: x-a, value: "1"}
    - name: x-b # why
      value: '2'
    body: |
      {"id": 1.0,
        "on": true}
`;

describe('editManifest', () => {
  it('changes only what differs, and keeps comments, order, quotes and block styles', () => {
    const { spec } = readManifest(COMMENTED, 'f.yaml').objects[0] ?? {};
    const changed = { ...(spec as object), slug: '/v2/orders', method: 'PUT' };
    expect(editManifest(COMMENTED, desired(changed))).toBe(
      COMMENTED.replace('/v1/orders   #', '/v2/orders #').replace('POST', 'PUT'),
    );
  });

  it('keeps the line breaks of a file from Windows', () => {
    const crlf = (text: string): string => text.replaceAll('\n', '\r\n');
    const { spec } = readManifest(COMMENTED, 'f.yaml').objects[0] ?? {};
    const other = COMMENTED.replace('name: a', 'name: b');
    const before = `${COMMENTED}---\n${other}`;
    const after = `${COMMENTED.replace('POST', 'PUT').replace('   #', ' #')}---\n${other}`;
    expect(editManifest(crlf(before), desired({ ...(spec as object), method: 'PUT' }))).toBe(crlf(after));
    expect(removeFromManifest(crlf(before), { kind: 'Endpoint', namespace: 'default', name: 'a' })).toBe(crlf(other));
    const json = crlf(newManifest(desired({ slug: '/a' }), true));
    expect(editManifest(json, desired({ slug: '/b' }))).toBe(json.replace('/a', '/b'));
  });

  it('adds, removes and replaces fields and items', () => {
    const text = editManifest(COMMENTED, desired({ slug: '/x', json: { headers: [{ name: 'x-a', value: 'on' }] } }));
    expect(text).toBe(`# Orders of the shop.
apiVersion: standin.dev/v1alpha1
kind: Endpoint
metadata:
  name: a
spec:
  # The path.
  slug: /x # as in the docs
  json:
    headers:
    - {name: x-a, value: "on"}
`);
  });

  it('moves, adds and removes items of a list by name, with their comments and style', () => {
    const items = {
      gold: `  - name: gold # for gold plans\n    body: |\n      {"plan": "gold"}\n`,
      free: `  - name: free\n    # The price is a string.\n    body: '{"price": "0"}'\n`,
      last: `  - {name: last, body: "{}"}\n`,
    };
    const file = (...names: (keyof typeof items)[]): string =>
      `apiVersion: standin.dev/v1alpha1\nkind: Endpoint\nmetadata: {name: a}\nspec:\n  responses:\n${names.map((name) => items[name]).join('')}`;
    const before = file('gold', 'free', 'last');
    const [gold, free, last] = (namesAndSpecs(before)[0]?.[1] as { responses: object[] }).responses;
    const edited = (...responses: (object | undefined)[]) => editManifest(before, desired({ responses }));
    expect(edited(last, gold, free)).toBe(file('last', 'gold', 'free'));
    expect(edited(free, last)).toBe(file('free', 'last'));
    const added = '  - name: new\n    body: "{}"\n';
    expect(edited({ name: 'new', body: '{}' }, gold, free, last)).toBe(
      before.replace('  - name: gold', `${added}  - name: gold`),
    );
    const renamed = { ...free, name: 'silver' };
    expect(edited(gold, renamed, last)).toBe(before.replace('name: free', 'name: silver'));
    // Without unique names, items are changed by index.
    expect(namesAndSpecs(edited(gold, gold) ?? '')[0]?.[1]).toEqual({ responses: [gold, gold] });
  });

  it('preserves the other documents in the file byte for byte', () => {
    const other = 'apiVersion: standin.dev/v1alpha1\nkind:   Endpoint\nmetadata: { name:  b }\nspec:\n    slug:  /b\n';
    const one = COMMENTED.replace('name: a', 'name: c');
    const file = `${other}---\n${COMMENTED}---\n# last\n${one}`;
    const text = editManifest(file, desired({ slug: '/x' })) ?? '';
    expect(text.startsWith(`${other}---\n`)).toBe(true);
    expect(text.endsWith(`---\n# last\n${one}`)).toBe(true);
    expect(namesAndSpecs(text).map(([name]) => name)).toEqual(['b', 'a', 'c']);
    expect(namesAndSpecs(text)[1]).toEqual(['a', { slug: '/x' }]);
  });

  it('writes labels and annotations, and removes empty ones', () => {
    const labelled = editManifest(COMMENTED, desired({}, { labels: { team: 'yes' } })) ?? '';
    expect(labelled).toContain('  name: a\n  labels:\n    team: "yes"\n');
    expect(readManifest(labelled, 'f').objects[0]?.metadata.labels).toEqual({ team: 'yes' });
    expect(editManifest(labelled, desired({}))).not.toContain('labels');
  });

  it('edits an item in a List', () => {
    const list = `apiVersion: v1\nkind: List\nitems:\n${COMMENTED.replace(/^/gm, '    ').replace('    #', '  - #').trimEnd()}\n`;
    expect(namesAndSpecs(list)).toHaveLength(1);
    expect(namesAndSpecs(editManifest(list, desired({ slug: '/x' })) ?? '')).toEqual([['a', { slug: '/x' }]]);
    expect(removeFromManifest(list, { kind: 'Endpoint', namespace: 'default', name: 'a' })).toBe('');
  });

  it('writes JSON in a JSON file', () => {
    const json = newManifest(desired({ slug: '/a' }), true);
    expect(JSON.parse(editManifest(json, desired({ slug: '/x' })) ?? '')).toMatchObject({ spec: { slug: '/x' } });
  });

  it('does not find an object in another namespace or of another kind', () => {
    expect(editManifest(COMMENTED, desired({}, { namespace: 'other' }))).toBeUndefined();
    expect(removeFromManifest(COMMENTED, { kind: 'Project', namespace: 'default', name: 'a' })).toBeUndefined();
  });

  it.each([' \n', '\n\n ', '  {\n  }\n', '-\na', '\t\n\ta\n', '\u2028\n'])(
    'writes %j in every style that the file contained',
    (text) => {
      const styles = ['text', "'text'", '"text"', '|\n        text', '>\n        text'];
      for (const style of styles) {
        const file = `apiVersion: ${GROUP_VERSION}\nkind: Endpoint\nmetadata:\n    name: a\nspec:\n    slug: ${style}\n`;
        expect(namesAndSpecs(editManifest(file, desired({ slug: text, x: text })) ?? '')).toEqual([
          ['a', { slug: text, x: text }],
        ]);
      }
      expect(namesAndSpecs(newManifest(desired({ slug: text }), false))).toEqual([['a', { slug: text }]]);
    },
  );

  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(
        'on',
        'no',
        '017',
        '1.0',
        '0x1f',
        '2026-11-21',
        '1:30',
        '~',
        'null',
        '',
        ' x',
        'a: b',
        '# c',
        '- d',
        'a\n\n b\n',
        '\t',
      ),
      fc.integer(),
      fc.boolean(),
      fc.array(tie('any'), { maxLength: 4 }),
      fc.dictionary(
        fc.string({ minLength: 1, maxLength: 8 }).filter((key) => key !== '__proto__'),
        tie('any'),
        { maxKeys: 4 },
      ),
    ),
  })).any;
  const spec = fc.dictionary(fc.constantFrom('slug', 'method', 'json', 'on', 'x'), value);

  it('produces exactly the desired object from any text', () => {
    fc.assert(
      fc.property(spec, spec, (before, after) => {
        const created = newManifest(desired(before), false);
        expect(namesAndSpecs(created)).toEqual([['a', before]]);
        expect(namesAndSpecs(editManifest(created, desired(after)) ?? '')).toEqual([['a', after]]);
        expect(namesAndSpecs(editManifest(COMMENTED, desired(after)) ?? '')).toEqual([['a', after]]);
      }),
      // `<<` is a merge key unless it is in quotes.
      { numRuns: 300, examples: [[{ slug: { E0: ['.'] } }, { slug: { '<<': false } }]] },
    );
  });
});

describe('removeFromManifest', () => {
  const document = (name: string) =>
    `# ${name}\napiVersion: standin.dev/v1alpha1\nkind: Endpoint\nmetadata: {name: ${name}}\n`;
  const file = `${document('a')}---\n${document('b')}---\n${document('c')}`;

  it.for([
    ['a', ['b', 'c']],
    ['b', ['a', 'c']],
    ['c', ['a', 'b']],
  ] as const)('removes only %s', ([name, rest]) => {
    const text = removeFromManifest(file, { kind: 'Endpoint', namespace: 'default', name }) ?? '';
    expect(namesAndSpecs(text).map(([left]) => left)).toEqual(rest);
    for (const left of rest) expect(text).toContain(document(left));
    expect(text).not.toContain(`# ${name}\n`);
  });

  it('returns empty text when it removes the only object', () => {
    expect(removeFromManifest(document('a'), { kind: 'Endpoint', namespace: 'default', name: 'a' })).toBe('');
  });
});

describe('the text of one object', () => {
  const ref = { kind: 'Endpoint', namespace: 'default', name: 'a' } as const;
  const other = COMMENTED.replace('name: a', 'name: b');

  it('is its document with comments, and can be replaced without changing the other documents', () => {
    const file = `${other}---\n${COMMENTED}--- # next\n${other}`;
    expect(manifestText(file, ref)).toBe(COMMENTED);
    const after = '# mine\nkind: Endpoint';
    expect(replaceManifestText(file, ref, { before: COMMENTED, after })).toBe(
      `${other}---\n${after}\n--- # next\n${other}`,
    );
    expect(replaceManifestText(COMMENTED, ref, { before: COMMENTED, after })).toBe(after);
  });

  it('is not replaced if it has changed in the file, even in a comment only', () => {
    const changed = COMMENTED.replace('# why', '# therefore');
    expect(replaceManifestText(changed, ref, { before: COMMENTED, after: 'a: 1' })).toBeUndefined();
  });

  it('keeps the line breaks of its file', () => {
    const file = COMMENTED.replaceAll('\n', '\r\n');
    expect(manifestText(file, ref)).toBe(COMMENTED);
    expect(replaceManifestText(file, ref, { before: COMMENTED, after: 'a: 1\nb: 2\n' })).toBe('a: 1\r\nb: 2\r\n');
  });

  it.each([
    ['JSON', newManifest(desired({ slug: '/x' }), true)],
    [
      'an item of a List',
      `kind: List\napiVersion: v1\nitems:\n- ${newManifest(desired(1), false).trim().replaceAll('\n', '\n  ')}\n`,
    ],
    ['another object', other],
  ])('does not exist in a file with %s', (_, file) => {
    expect(manifestText(file, ref)).toBeUndefined();
  });
});
