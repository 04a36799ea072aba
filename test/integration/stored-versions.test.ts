import { API_GROUP, API_VERSION, CATEGORY, KINDS, RESOURCES, type Kind } from '@standin/contract';
import { customResourceDefinition, DEFINITIONS } from '@standin/crds';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixtures } from '../../crds/src/fixtures.testing.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';

/**
 * Tests the way to `v1beta1` in docs/reference/support.md, with the CRDs of this repository as both versions and without a webhook.
 * Each test is one step.
 */

const NEXT = 'v1beta1';
const NAMESPACE = 'stored';

interface Stored {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly generation: number;
    readonly resourceVersion: string;
  };
  readonly spec: unknown;
  readonly status?: unknown;
}

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated?: boolean;
}

let cluster: OwnCluster;
/** The objects as they are when only the earlier version exists, by kind and name. */
let original: ReadonlyMap<string, Stored>;

const kubectl = async (args: readonly string[], input?: string): Promise<string> => {
  const { code, stdout, stderr } = await cluster.kubectl(args, input === undefined ? {} : { input });
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
};

const crdNames = KINDS.map((kind) => `${RESOURCES[kind].plural}.${API_GROUP}`);

/** Changes the versions of all CRDs. Without `conversion`, the API server uses the strategy None, which changes only `apiVersion`. */
const applyVersions = async (...versions: readonly Version[]): Promise<void> => {
  const items = KINDS.map((kind) => {
    const crd = customResourceDefinition(DEFINITIONS[kind]);
    return {
      ...crd,
      spec: { ...crd.spec, versions: versions.map((version) => ({ ...crd.spec.versions[0], ...version })) },
    };
  });
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  for (const { name, served } of versions)
    await eventually(
      `${name} served=${served}`,
      async () => (await kubectl(['get', '--raw', '/apis'])).includes(`"${API_GROUP}/${name}"`),
      { accept: (isServed) => isServed === served, timeoutMs: 30_000 },
    );
};

const resourcesIn = (version: string): string =>
  KINDS.map((kind) => `${RESOURCES[kind].plural}.${version}.${API_GROUP}`).join();

const keyOf = ({ kind, metadata }: Stored): string => `${kind}/${metadata.name}`;
const read = async (version: string): Promise<readonly Stored[]> =>
  (JSON.parse(await kubectl(['get', resourcesIn(version), '-n', NAMESPACE, '-o', 'json'])) as { items: Stored[] })
    .items;

/** Returns what a user or the operator reads in an object, whichever version they use. */
const meaningOf = ({ kind, metadata: { name, uid, generation }, spec, status }: Stored): object => ({
  ...{ kind, name, uid, generation, spec, status },
});
/** Requires that all objects have their original meaning, in the given version. */
const expectUnchanged = async (version: string): Promise<void> => {
  const objects = await read(version);
  expect(new Set(objects.map(({ apiVersion }) => apiVersion))).toEqual(new Set([`${API_GROUP}/${version}`]));
  expect(objects.map(meaningOf)).toEqual([...original.values()].map(meaningOf));
};

const storedVersions = async (): Promise<ReadonlySet<string>> => {
  const paths = await Promise.all(
    crdNames.map((name) => kubectl(['get', 'crd', name, '-o', 'jsonpath={.status.storedVersions}'])),
  );
  return new Set(paths);
};

/** The status of a fixture, as the operator would write it. */
const statusOf = (generation: number): object => ({
  observedGeneration: generation,
  conditions: ['Accepted', 'Ready'].map((type) => ({
    ...{ type, status: 'True', reason: type, message: 'The object is valid.', observedGeneration: generation },
    lastTransitionTime: '2026-11-21T09:00:00Z',
  })),
});

beforeAll(async () => {
  cluster = await startCluster();
  await installStandin(cluster);
  await kubectl(['create', 'namespace', NAMESPACE]);
  const items = fixtures('accepted').map(({ object }, index) => ({
    ...object,
    metadata: { ...(object['metadata'] as object), name: `stored-${index}`, namespace: NAMESPACE },
  }));
  await kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const created = await read(API_VERSION);
  const withStatus = created.map((object) => ({ ...object, status: statusOf(object.metadata.generation) }));
  const list = { apiVersion: 'v1', kind: 'List', items: withStatus };
  await kubectl(['replace', '--subresource=status', '-f', '-'], JSON.stringify(list));
  original = new Map((await read(API_VERSION)).map((object) => [keyOf(object), object]));
}, 120_000);
afterAll(() => cluster.stop());

test('there are stored objects of every kind, with statuses', () => {
  const kinds = new Set([...original.values()].map(({ kind }) => kind));
  expect(kinds).toEqual(new Set(KINDS));
  for (const { status } of original.values()) expect(status).toMatchObject({ observedGeneration: 1 });
});

describe('while both versions are served and v1alpha1 is stored', () => {
  beforeAll(() =>
    applyVersions({ name: NEXT, served: true, storage: false }, { name: API_VERSION, served: true, storage: true }),
  );

  test('every object has the same meaning in both', async () => {
    await expectUnchanged(API_VERSION);
    await expectUnchanged(NEXT);
  });

  test('an object that is written in one version is read in the other', async () => {
    const account = { kind: 'Account', metadata: { name: 'written', namespace: NAMESPACE }, spec: { plan: 'Pro' } };
    const plan = (version: string) =>
      kubectl(['get', `mockaccounts.${version}.${API_GROUP}/written`, '-n', NAMESPACE, '-o', 'jsonpath={.spec.plan}']);
    await kubectl(['create', '-f', '-'], JSON.stringify({ ...account, apiVersion: `${API_GROUP}/${NEXT}` }));
    expect([await plan(API_VERSION), await plan(NEXT)]).toEqual(['Pro', 'Pro']);
    await cluster.apply(
      JSON.stringify({ ...account, apiVersion: `${API_GROUP}/${API_VERSION}`, spec: { plan: 'Free' } }),
    );
    expect([await plan(API_VERSION), await plan(NEXT)]).toEqual(['Free', 'Free']);
    const preferred = ['get', 'mac/written', '-n', NAMESPACE, '-o', 'jsonpath={.apiVersion}'];
    expect(await kubectl(preferred)).toBe(`${API_GROUP}/${NEXT}`);
    await kubectl(['delete', 'mac/written', '-n', NAMESPACE]);
  });

  test('rules compare an object with its stored version', async () => {
    const name = [...original.values()].find(({ kind }) => kind === 'Project')?.metadata.name ?? '';
    const project = `mockprojects.${NEXT}.${API_GROUP}/${name}`;
    const patch = JSON.stringify({ spec: { accountRef: { name: 'changed' } } });
    const { stderr } = await cluster.kubectl(['patch', project, '-n', NAMESPACE, '--type=merge', '-p', patch]);
    expect(stderr).toContain('the log belongs to the account');
  });
});

describe('after v1beta1 has become the stored version', () => {
  const both = [
    { name: NEXT, served: true, storage: true },
    { name: API_VERSION, served: true, storage: false, deprecated: true },
  ];
  beforeAll(() => applyVersions(...both));

  test('objects that are stored in v1alpha1 are read in both, and v1alpha1 cannot be removed yet', async () => {
    await expectUnchanged(API_VERSION);
    await expectUnchanged(NEXT);
    expect(await storedVersions()).toEqual(new Set([JSON.stringify([API_VERSION, NEXT])]));
    await expect(applyVersions({ name: NEXT, served: true, storage: true })).rejects.toThrow(
      /status\.storedVersions\[0\]: Invalid value: "v1alpha1"/,
    );
  });

  test('the documented command stores every object in v1beta1, once, and changes nothing else', async () => {
    const rewrite = async (): Promise<void> => {
      const objects = await kubectl(['get', CATEGORY, '-A', '-o', 'json']);
      await kubectl(['replace', '-f', '-'], objects);
    };
    const versionsOf = async () => (await read(NEXT)).map(({ metadata }) => metadata.resourceVersion);
    const before = await versionsOf();
    await rewrite();
    const after = await versionsOf();
    // The API server stores an unchanged object again only if it is stored in another version.
    expect(after.filter((version, index) => version === before[index])).toEqual([]);
    await rewrite();
    expect(await versionsOf()).toEqual(after);
    await expectUnchanged(API_VERSION);
    await expectUnchanged(NEXT);
  });

  test('v1alpha1 can be removed from the stored versions, and its manifests still change nothing, with a warning', async () => {
    const patch = JSON.stringify({ status: { storedVersions: [NEXT] } });
    for (const name of crdNames)
      await kubectl(['patch', 'crd', name, '--subresource=status', '--type=merge', '-p', patch]);
    expect(await storedVersions()).toEqual(new Set([JSON.stringify([NEXT])]));
    await expectUnchanged(API_VERSION);
    const items = [...original.values()].map(({ apiVersion, kind, metadata: { name }, spec }) => ({
      ...{ apiVersion, kind, metadata: { name, namespace: NAMESPACE }, spec },
    }));
    const manifests = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], manifests);
    await expectUnchanged(API_VERSION);
    const { stderr } = await cluster.kubectl(['get', resourcesIn(API_VERSION), '-n', NAMESPACE]);
    expect(stderr).toContain(`Warning: ${API_GROUP}/${API_VERSION}`);
  });
});

test('the objects keep their meaning when v1alpha1 is no longer part of the CRDs', async () => {
  await applyVersions({ name: NEXT, served: true, storage: true });
  await expectUnchanged(NEXT);
});
