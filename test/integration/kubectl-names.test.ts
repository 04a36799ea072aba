import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { API_GROUP, GROUP_VERSION, KINDS, RESOURCES, type Kind } from '@standin/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { createNamespace } from '../harness/namespace.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const MANIFESTS = path.join(ROOT, 'crds/manifests');

let cluster: OwnCluster;
let namespace: string;
/** The uid of the object of each kind that was created before the CRDs were upgraded. */
const uids = new Map<Kind, string>();

const requestId = '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe';
const SPECS: Record<Kind, object> = {
  Account: {},
  Project: { accountRef: { name: 'a' } },
  Endpoint: {
    projectRef: { name: 'a' },
    displayName: 'A',
    slug: '/a',
    method: 'GET',
    action: 'JSON',
    json: { body: '1' },
  },
  Replay: { projectRef: { name: 'a' }, requestId, target: { kind: 'Endpoint' } },
  Share: { projectRef: { name: 'a' }, requestId, tokenSha256: 'a'.repeat(64), expiresAt: '2030-01-01T00:00:00Z' },
  KeyRegeneration: { accountRef: { name: 'a' } },
  Purge: { projectRef: { name: 'a' }, filter: { to: '2026-11-21T09:00:00Z' }, requests: 'All', reason: 'a' },
  Expectation: { projectRef: { name: 'a' }, count: { min: 1 }, deadline: '1m' },
};
const testObject = (kind: Kind, name: string) => ({
  apiVersion: GROUP_VERSION,
  kind,
  metadata: { name, namespace },
  spec: SPECS[kind],
});

/** Runs kubectl and returns its standard output. If kubectl fails, throws its error output. */
const kubectl = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await cluster.kubectl(['-n', namespace, ...args]);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
};

interface Names {
  readonly spec: { readonly names: { readonly plural: string; singular: string; shortNames: string[] } };
}

/** Returns the CRD with only the names of earlier versions, such as `mockprojects`, `mockproject` and `mpr`. */
const withOldNames = (yaml: string): string => {
  const crd = parse(yaml) as Names;
  crd.spec.names.singular = crd.spec.names.plural.slice(0, -1);
  crd.spec.names.shortNames = crd.spec.names.shortNames.slice(0, 1);
  // The API server reads YAML 1.1, in which `on` without quotes is a boolean.
  return stringify(crd, { aliasDuplicateObjects: false, version: '1.1' });
};

const FOREIGN = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: projects.other.example}
spec:
  group: other.example
  scope: Namespaced
  names: {kind: Project, listKind: ProjectList, plural: projects, singular: project}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object}}
`;

const established = () => kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s');

beforeAll(async () => {
  cluster = await startCluster();
  namespace = await createNamespace(cluster, 'names');
  const files = (await readdir(MANIFESTS)).map((name) => path.join(MANIFESTS, name));
  const manifests = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  await cluster.apply(manifests.map(withOldNames).join('\n---\n'));
  await established();
  for (const kind of KINDS) {
    await cluster.apply(JSON.stringify(testObject(kind, 'a')));
    uids.set(kind, await kubectl('get', `${RESOURCES[kind].plural}/a`, '-o', 'jsonpath={.metadata.uid}'));
  }
  await kubectl('apply', '-f', MANIFESTS);
  await eventually('the new names', async () => kubectl('get', 'crd', '-o', 'jsonpath={..acceptedNames.singular}'), {
    accept: (singulars) => KINDS.every((kind) => singulars.split(' ').includes(kind.toLowerCase())),
    timeoutMs: 30_000,
  });
  // kubectl's cache of the API's resources still has the old names. `--cached=false` refreshes the cache.
  await eventually('the discovery of the new names', async () => kubectl('api-resources', '--cached=false'), {
    accept: (table) => KINDS.every((kind) => table.includes(RESOURCES[kind].shortNames.join(','))),
    timeoutMs: 30_000,
  });
});
afterAll(() => cluster.stop());

const spellings = (kind: Kind): readonly string[] => {
  const { plural, singular, shortNames } = RESOURCES[kind];
  return [plural, singular, ...shortNames].map((name) => `${name}.${API_GROUP}`);
};

test.each(KINDS)('%s keeps its objects when the CRD gets new names', async (kind) => {
  const { plural } = RESOURCES[kind];
  expect(await kubectl('get', `${plural}/a`, '-o', 'jsonpath={.metadata.uid}')).toBe(uids.get(kind));
});

test.each(KINDS)('kubectl accepts every spelling of %s', async (kind) => {
  const { plural, singular, shortNames } = RESOURCES[kind];
  const names = spellings(kind);
  const printed = `${singular}.${API_GROUP}`;
  // Where kubectl accepts several names, one command tests all spellings, because each command takes a quarter of a second to
  // start.
  const objects = names.map((name) => `${name}/a`);
  expect(await kubectl('get', ...objects, '-o', 'name')).toBe(`${printed}/a\n`.repeat(names.length));
  expect((await kubectl('describe', ...objects)).match(new RegExp(`^Kind: +${kind}$`, 'gm'))).toHaveLength(
    names.length,
  );
  for (const name of names) {
    expect(await kubectl('events', '--for', `${name}/a`), name).toBe('');
    expect(await kubectl('auth', 'can-i', 'get', name), name).toBe('yes\n');
  }
  const resources = names.map((name) => `--resource=${name}`);
  const role = JSON.parse(
    await kubectl('create', 'role', 'r', '--verb=get', ...resources, '--dry-run=server', '-o=json'),
  ) as { readonly rules: readonly { readonly apiGroups: string[]; readonly resources: string[] }[] };
  expect(role.rules.map(({ apiGroups }) => apiGroups)).toEqual([[API_GROUP]]);
  expect(new Set(role.rules[0]?.resources)).toEqual(new Set([plural]));
  const deleted = names.map((_, index) => `b${index}`);
  await cluster.apply(
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: deleted.map((name) => testObject(kind, name)) }),
  );
  const output = await kubectl('delete', ...names.map((name, index) => `${name}/${deleted[index]}`));
  for (const name of deleted) expect(output).toContain(`${printed} "${name}" deleted`);
  expect(await kubectl('get', `${shortNames[0]}/a`, '-o', 'name')).toBe(`${printed}/a\n`);
  // For any name except the plural, kubectl explain reads the group as a field.
  for (const name of [`${plural}.${API_GROUP}`, plural, singular, shortNames[0]]) {
    expect(await kubectl('explain', name), name).toMatch(new RegExp(`^KIND: +${kind}$`, 'm'));
    expect(await kubectl('explain', `${name}.status.conditions`), name).toMatch(/^FIELD: conditions/m);
  }
});

test('kubectl prints the Events of an object under the name that kubectl get prints', async () => {
  const regarding = { apiVersion: GROUP_VERSION, kind: 'Project', namespace, name: 'a', uid: uids.get('Project') };
  const event = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'a.1', namespace },
    eventTime: '2026-11-21T09:00:00.000000Z',
    reportingController: 'standin.dev/operator',
    reportingInstance: 'test',
    action: 'Reconcile',
    type: 'Normal',
    reason: 'Ready',
    note: 'It is live',
    regarding,
  };
  await cluster.apply(JSON.stringify(event));
  const name = (await kubectl('get', 'mpr', '-o', 'name')).trim();
  expect(name).toBe('project.standin.dev/a');
  expect(await kubectl('events', '--for', name)).toContain('It is live');
});

// The plurals have a prefix, because a role or a script that omits the group must never refer to a Service's endpoints.
test('the exact plural of another group outranks a short name', async () => {
  expect(await kubectl('get', 'endpoints', '-o', 'name')).toBe('');
  await cluster.apply(FOREIGN);
  await established();
  const foreign = { apiVersion: 'other.example/v1', kind: 'Project', metadata: { name: 'theirs', namespace } };
  await eventually(
    'the other group',
    async () =>
      cluster.apply(JSON.stringify(foreign)).then(
        () => true,
        () => false,
      ),
    {
      accept: (applied) => applied,
    },
  );
  expect(await kubectl('get', 'projects', '-o', 'name')).toBe('project.other.example/theirs\n');
  expect(await kubectl('get', 'mpr', '-o', 'name')).toBe('project.standin.dev/a\n');
  expect(await kubectl('get', 'projects.standin.dev', '-o', 'name')).toBe('project.standin.dev/a\n');
});
