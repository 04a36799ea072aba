import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { OWN, SECRETS, SERVED, type Right } from './check-rights.ts';

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules: readonly { readonly apiGroups: string[]; readonly resources: string[]; readonly verbs: string[] }[];
}

/** What the chart renders (chart-render.test.ts). */
const RENDERED = new URL('../../../test/harness/rbac.yaml', import.meta.url);
const roles = parseAllDocuments(readFileSync(RENDERED, 'utf8')).map((document) => document.toJS() as Role);

const grantedBy = (kind: string): ReadonlySet<string> => {
  const role = roles.find((one) => one.kind === kind && one.metadata.name === 'standin-operator');
  const granted = (role?.rules ?? []).flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
  );
  return new Set(granted);
};
const namesOf = (rights: readonly Right[]): readonly string[] =>
  rights.flatMap(({ group, resource, subresource, verbs }) =>
    verbs.map((verb) => `${verb} ${group}/${[resource, subresource].filter(Boolean).join('/')}`),
  );

test.each([
  ['ClusterRole', [...SERVED, SECRETS]],
  ['Role', OWN],
] as const)('the %s of the chart grants what is checked', (kind, rights) => {
  const granted = grantedBy(kind);
  expect(namesOf(rights).filter((name) => !granted.has(name))).toEqual([]);
});

// The rest of the Role is for draining volumes, which an installation may turn off. One-time operations are deleted after they end.
test('every permission on the objects of users is checked', () => {
  const checked = new Set(namesOf([...SERVED, SECRETS]));
  const rest = [...grantedBy('ClusterRole')].filter((name) => !checked.has(name));
  expect(
    rest.filter((name) => !/^(get|delete) standin\.dev\/mock(replays|shares|keyregenerations)$/.test(name)),
  ).toEqual([]);
});
