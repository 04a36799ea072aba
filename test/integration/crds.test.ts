import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';
import { API_GROUP, API_VERSION, KINDS, RESOURCES, type Kind } from '@standin/contract';
import { DEFINITIONS, parseManifest, parseObject, SCHEMA_DIGEST_ANNOTATION, schemaDigest } from '@standin/crds';
import type { Problem } from '@standin/crds';
import { ApiError, resourcePath } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { fixtures } from '../../crds/src/fixtures.testing.ts';
import { variants } from '../../crds/src/variants.testing.ts';
import type { Cluster } from '../harness/cluster.ts';
import { createNamespace, deleteNamespace, useNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';

const ROOT = path.join(import.meta.dirname, '../..');

let cluster: Cluster;
let objects: CustomObjectsApi;
let namespace: string;

beforeAll(async () => {
  cluster = await sharedCluster();
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromFile(cluster.kubeconfigPath);
  objects = kubeConfig.makeApiClient(CustomObjectsApi);
  namespace = await createNamespace(cluster, 'crds');
});
afterAll(() => deleteNamespace(cluster, namespace));

type Manifest = Readonly<Record<string, unknown>>;

/** The fields of the API server's Status that the tests read. */
interface Refusal {
  readonly message: string;
  readonly details?: { readonly causes?: readonly { readonly field: string; readonly message: string }[] };
}

/**
 * Returns the error that `kubectl create --dry-run=server --validate=strict` would print, or undefined if the object is valid. The
 * object is not stored.
 */
const dryRunRefusal = async (body: Manifest): Promise<Refusal | undefined> => {
  const { plural } = RESOURCES[body['kind'] as Kind];
  const request = { group: API_GROUP, version: API_VERSION, namespace, plural, body };
  try {
    await objects.createNamespacedCustomObject({ ...request, dryRun: 'All', fieldValidation: 'Strict' });
    return undefined;
  } catch (error) {
    return JSON.parse((error as { body: string }).body) as Refusal;
  }
};

/** What our messages advise beyond those of the API server. */
const ADVICE = /: (?:did you mean \S+\?|put it in quotes(?:, or write it as a block after \|)?|remove the quotes)$/;

/** Converts a message to the API server's wording, which differs for lengths. */
const inServerWords = (message: string): string =>
  message
    .replace(ADVICE, '')
    .replace('must not be empty', 'should be at least 1 chars long')
    .replace('characters long', 'chars long');

/**
 * Returns whether the API server reports the problem. If an object is given where none is allowed, the API server reports an
 * unknown field of the object instead.
 */
const hasProblem = ({ message, details }: Refusal, problem: Problem): boolean => {
  const words = inServerWords(problem.message);
  if (words.startsWith('unknown field')) return message.includes(words);
  if (words.endsWith(': "object"') && message.includes(`unknown field "${problem.path}.`)) return true;
  const causes = details?.causes ?? [];
  return causes.some(({ field, message: text }) => field === problem.path && text.includes(words));
};

/** Returns the messages of all CEL rules in the committed CRDs. */
const celMessages = (): ReadonlySet<string> => {
  const messages = new Set<string>();
  const collect = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { rule, message } = node as { rule?: unknown; message?: unknown };
    if (typeof rule === 'string' && typeof message === 'string') messages.add(message);
    for (const child of Object.values(node)) collect(child);
  };
  for (const kind of KINDS) {
    const file = path.join(ROOT, `crds/manifests/${API_GROUP}_${RESOURCES[kind].plural}.yaml`);
    for (const { value } of parseManifest(readFileSync(file, 'utf8')).documents) collect(value);
  }
  return messages;
};

describe('zod and the API server', () => {
  const verbatim = celMessages();

  it.each(fixtures('accepted'))('both accept $name', async ({ object }) => {
    expect(await dryRunRefusal(object)).toBeUndefined();
  });

  it.each(fixtures('refused'))('both reject $name', async ({ object, expected }) => {
    const refusal = await dryRunRefusal(object);
    if (refusal === undefined) throw new Error('the API server accepted it');
    const result = parseObject(object);
    const problems = result.ok ? [] : result.problems;
    // Both sides report a CEL rule with the same text. For other problems, the fixture contains the expected part.
    const reported = problems.map((problem, index) =>
      verbatim.has(problem.message) ? problem : { ...problem, ...expected[index] },
    );
    expect(
      reported.filter((problem) => !hasProblem(refusal, problem)),
      refusal.message,
    ).toEqual([]);
  });

  it('agree on every object that differs from a fixture in one value', async () => {
    const all = variants(fixtures('accepted').map(({ object }) => object));
    const client = loadKubeClient({
      kubeconfigPath: cluster.kubeconfigPath,
      writeRate: { qps: 1_000_000, burst: 1_000_000 },
    });
    const accepts = async (object: Manifest): Promise<boolean> => {
      const { plural } = RESOURCES[object['kind'] as Kind];
      const place = { group: API_GROUP, version: API_VERSION, plural, namespace };
      const query = { dryRun: 'All', fieldValidation: 'Strict' };
      try {
        await client.create(resourcePath(place), object, { query });
        return true;
      } catch (error) {
        if (error instanceof ApiError && (error.status === 400 || error.status === 422)) return false;
        throw error;
      }
    };
    const differences: string[] = [];
    let next = 0;
    const compare = async (): Promise<void> => {
      for (let one = all[next++]; one !== undefined; one = all[next++]) {
        const byServer = await accepts(one.object);
        if (parseObject(one.object).ok !== byServer)
          differences.push(`${one.what}: the API server ${byServer ? 'accepts' : 'rejects'} it`);
      }
    };
    await Promise.all(Array.from({ length: 16 }, compare));
    await client.close();
    expect(differences).toEqual([]);
    expect(all.length).toBeGreaterThan(10_000);
  });

  it('agree on the order of two times, to the nanosecond', async () => {
    const fractions = ['', '.0', '.000', '.000000000', '.1', '.100', '.000001', '.0000001', '.000000001', '.00000001'];
    const times = fractions.map((fraction) => `2026-11-21T09:00:00${fraction}Z`);
    const pairs = times.flatMap((from) => times.map((to) => ({ from, to })));
    for (const filter of pairs) {
      const spec = { projectRef: { name: 'shop' }, reason: 'a', filter };
      const apiVersion = `${API_GROUP}/${API_VERSION}`;
      const object = { apiVersion, kind: 'Purge', metadata: { name: 'x' }, spec };
      const isAccepted = (await dryRunRefusal(object)) === undefined;
      expect({ ...filter, isAccepted: parseObject(object).ok }).toEqual({ ...filter, isAccepted });
    }
  });

  it('have a fixture for every CEL rule', () => {
    const tested = new Set(
      fixtures('refused').flatMap(({ object }) => {
        const result = parseObject(object);
        return result.ok ? [] : result.problems.map(({ message }) => message);
      }),
    );
    const ofTransitions = KINDS.flatMap((kind) => DEFINITIONS[kind].transitions.map(({ message }) => message));
    // These objects are too large for a file. The next tests generate such objects.
    const ofSizes = [
      'must be no more than 200000 bytes of UTF-8',
      'must be no more than 200000 bytes in total: send a larger request with another client',
    ];
    const elsewhere = [...ofSizes, ...ofTransitions];
    expect([...verbatim].filter((message) => !tested.has(message) && !elsewhere.includes(message))).toEqual([]);
  });

  it.each([
    ['200 kB', 'a'.repeat(199_998), true],
    ['200 kB of two-byte characters', 'é'.repeat(99_999), true],
    ['one byte more', 'é'.repeat(99_999) + 'a', false],
    ['300 kB', 'a'.repeat(299_998), false],
  ])('on a body of %s', async (_, text, fits) => {
    const spec = { projectRef: { name: 'shop' }, displayName: 'a', slug: '/', method: 'GET', action: 'JSON' };
    const json = { body: JSON.stringify(text) };
    const object = {
      apiVersion: `${API_GROUP}/${API_VERSION}`,
      kind: 'Endpoint',
      metadata: { name: 'large' },
      spec: { ...spec, json },
    };
    expect(parseObject(object).ok).toBe(fits);
    expect((await dryRunRefusal(object)) === undefined).toBe(fits);
  });
});

describe('Replays and Shares', () => {
  const requestId = '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe';
  const replayObject = (spec: object) => ({
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind: 'Replay',
    metadata: { name: 'replay' },
    spec: { projectRef: { name: 'shop' }, requestId, target: { kind: 'Endpoint' }, ...spec },
  });
  const headers = Array.from({ length: 20 }, (_, index) => ({ name: `x-${index}`, value: 'é'.repeat(2_500) }));

  it.each([
    ['a body of 200 kB', { body: 'é'.repeat(100_000) }, true],
    ['a body of one byte more', { body: `${'é'.repeat(100_000)}a` }, false],
    ['headers and a body that exceed the limit together', { headers, body: 'a'.repeat(100_000) }, false],
    ['headers and a body within the limit together', { headers, body: 'a'.repeat(99_910) }, true],
  ])('zod and the API server agree on an edit with %s', async (_, edit, fits) => {
    const object = replayObject({ edit });
    expect(parseObject(object).ok).toBe(fits);
    expect((await dryRunRefusal(object)) === undefined).toBe(fits);
  });

  it('only the state and the time to live of a Replay can be changed, the state until it is cancelled', async () => {
    const own = await useNamespace(cluster);
    const edit = { method: 'PUT', headers: [{ name: 'a', value: 'b' }], body: 'x' };
    const object = replayObject({ edit });
    await cluster.apply(JSON.stringify({ ...object, metadata: { ...object.metadata, namespace: own } }));
    const patch = async (spec: object) => {
      const merge = ['patch', 'mre/replay', '-n', own, '--type=merge', '-p', JSON.stringify({ spec })];
      return (await cluster.kubectl(merge)).stderr;
    };
    for (const spec of [
      { projectRef: { name: 'other' } },
      { requestId: requestId.replace('0', '1') },
      { edit: { body: 'y' } },
      { edit: null },
      { target: { kind: 'Upstream' } },
      { ratePerSecond: 11 },
      { order: 'Original' },
    ]) {
      expect(await patch(spec), JSON.stringify(spec)).toContain(
        'cannot be changed, because requests may have been sent',
      );
    }
    for (const ttlSecondsAfterFinished of [0, 60, null]) expect(await patch({ ttlSecondsAfterFinished })).toBe('');
    for (const state of ['Suspended', 'Running', 'Cancelled']) expect(await patch({ state })).toBe('');
    expect(await patch({ state: 'Running' })).toContain('after the replay was cancelled');
  });

  it('a Share cannot be changed', async () => {
    const own = await useNamespace(cluster);
    await cluster.kubectl(['apply', '-n', own, '-f', path.join(ROOT, 'crds/examples/operations/share.yaml')]);
    for (const spec of [{ expiresAt: '2030-01-01T00:00:00Z' }, { redact: null }, { tokenSha256: 'a'.repeat(64) }]) {
      const merge = ['patch', 'msh/order-for-support', '-n', own, '--type=merge', '-p', JSON.stringify({ spec })];
      expect((await cluster.kubectl(merge)).stderr).toContain('cannot be changed, because the link may have been sent');
    }
  });

  it('the examples can be created and listed', async () => {
    const own = await useNamespace(cluster);
    const created = await cluster.kubectl(['create', '-n', own, '-f', path.join(ROOT, 'crds/examples/operations')]);
    expect(created).toMatchObject({ code: 0, stderr: '' });
    const { stdout } = await cluster.kubectl(['get', 'mre,msh,mkr', '-n', own]);
    expect(stdout).toMatch(/NAME +PHASE +SENT +PLANNED +FAILED +TARGET +AGE/);
    expect(stdout).toMatch(/NAME +PROJECT +REQUEST +READY +REASON +EXPIRES +AGE/);
    expect(stdout).toMatch(/NAME +ACCOUNT +PHASE +GATEWAYS +COMPLETED +AGE/);
    expect(stdout).toMatch(/order-for-support +shop .* Unknown +Pending/);
  });
});

describe('kubectl', () => {
  const example = (name: string): string => path.join(ROOT, 'crds/examples', name);

  it('prints the message of the violated rule', async () => {
    const file = path.join(ROOT, 'crds/testdata/refused/header-value-crlf.yaml');
    const { code, stderr } = await cluster.kubectl(['apply', '-n', namespace, '-f', file]);
    expect(code).toBe(1);
    expect(stderr).toContain('spec.json.headers[0].value: Invalid value:');
    expect(stderr).toContain('must not contain line breaks or other control characters');
  });

  it('rejects an unknown field and an unknown kind', async () => {
    const field = path.join(ROOT, 'crds/testdata/refused/unknown-field.yaml');
    expect((await cluster.kubectl(['apply', '-n', namespace, '-f', field])).stderr).toContain(
      'unknown field "spec.slgu"',
    );
    const input = 'apiVersion: standin.dev/v1alpha1\nkind: Mock\nmetadata: {name: a}\n';
    const { code, stderr } = await cluster.kubectl(['apply', '-n', namespace, '-f', '-'], { input });
    expect(code).toBe(1);
    expect(stderr).toContain('no matches for kind "Mock"');
  });

  it('applies the examples and lists them by category with a Pending status', async () => {
    const own = await useNamespace(cluster);
    const folders = ['quickstart', 'forward', 'own-key'].flatMap((name) => ['-f', example(name)]);
    expect(await cluster.kubectl(['apply', '-n', own, ...folders])).toMatchObject({ code: 0, stderr: '' });

    const { stdout } = await cluster.kubectl(['get', 'standin', '-n', own, '-o', 'wide']);
    const table = stdout.split('\n').map((line) => line.trim().split(/\s{2,}/));
    const row = (name: string) => table.find(([first]) => first?.includes(`/${name}`))?.join(' | ');
    const header = (kind: string) =>
      table[table.findIndex(([first]) => first?.startsWith(`${kind}.`)) - 1]?.join(' | ');
    expect(header('endpoint')).toMatch(/NAME.*URL.*METHOD.*READY.*REASON.*AGE.*MESSAGE.*PROJECT.*ACTION.*SLUG/);
    expect(header('project')).toMatch(/NAME.*URL.*ACCOUNT.*READY.*REASON.*AGE.*MESSAGE.*ENDPOINTS/);
    expect(header('account')).toMatch(/NAME.*PLAN.*READY.*REASON.*AGE.*MESSAGE.*SECRET/);
    expect(row('create-order')).toMatch(/POST.*Unknown.*Pending.*Waiting for the operator.*shop.*JSON.*\/v1\/orders/);
    expect(row('default')).toMatch(/Pro.*Unknown.*Pending.*Waiting for the operator/);

    const status = [
      'get',
      'mpr',
      'shop',
      '-n',
      own,
      '-o',
      'jsonpath={range .status.conditions[*]}{.type}={.status} {end}',
    ];
    expect((await cluster.kubectl(status)).stdout.trim()).toBe(
      'Accepted=Unknown ResolvedRefs=Unknown Programmed=Unknown Ready=Unknown',
    );
  });

  it('selects by project', async () => {
    const own = await useNamespace(cluster);
    await cluster.kubectl(['apply', '-n', own, '-f', example('quickstart')]);
    const by = async (project: string) => {
      const selector = `--field-selector=spec.projectRef.name=${project}`;
      return (await cluster.kubectl(['get', 'mep', '-n', own, '-o', 'name', selector])).stdout.trim().split('\n');
    };
    expect(await by('shop')).toHaveLength(3);
    expect(await by('other')).toEqual(['']);
  });

  it.each([
    ['a project’s account', 'mpr/shop', { spec: { accountRef: { name: 'b' } } }, 'the log belongs to the account'],
    [
      'an endpoint’s project',
      'mep/create-order',
      { spec: { projectRef: { name: 'b' } } },
      'the log belongs to the project',
    ],
  ])('cannot change %s', async (_, object, patch, message) => {
    const own = await useNamespace(cluster);
    await cluster.kubectl(['apply', '-n', own, '-f', example('quickstart')]);
    const merge = ['patch', object, '-n', own, '--type=merge', '-p', JSON.stringify(patch)];
    const { code, stderr } = await cluster.kubectl(merge);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  it('can set a project’s uri once, and cannot change or remove it afterwards', async () => {
    const own = await useNamespace(cluster);
    await cluster.kubectl(['apply', '-n', own, '-f', example('quickstart')]);
    const pin = (uri: string | null) =>
      cluster.kubectl(['patch', 'mpr/shop', '-n', own, '--type=merge', '-p', JSON.stringify({ spec: { uri } })]);
    expect(await pin('a'.repeat(16))).toMatchObject({ code: 0 });
    for (const uri of ['b'.repeat(16), null]) {
      const { code, stderr } = await pin(uri);
      expect(code).toBe(1);
      expect(stderr).toContain('cannot be changed or removed once it is set');
    }
  });

  it('cannot add or change an account’s uriPrefix, but can remove it', async () => {
    const own = await useNamespace(cluster);
    const account = (name: string, spec: object) => ({
      apiVersion: 'standin.dev/v1alpha1',
      kind: 'Account',
      metadata: { name, namespace: own },
      spec,
    });
    await cluster.apply(JSON.stringify(account('plain', { plan: 'Free' })));
    await cluster.apply(JSON.stringify(account('prefixed', { plan: 'Free', uriPrefix: 'team-a-' })));
    const set = (name: string, spec: object) =>
      cluster.kubectl(['patch', `mac/${name}`, '-n', own, '--type=merge', '-p', JSON.stringify({ spec })]);
    for (const name of ['plain', 'prefixed']) {
      const { code, stderr } = await set(name, { uriPrefix: 'team-b-' });
      expect([code, stderr]).toEqual([1, expect.stringContaining('cannot be added or changed')]);
    }
    expect(await set('prefixed', { plan: 'Pro' })).toMatchObject({ code: 0 });
    expect(await set('prefixed', { uriPrefix: null })).toMatchObject({ code: 0 });
    expect(await set('prefixed', { uriPrefix: 'team-a-' })).toMatchObject({ code: 1 });
  });

  it('cannot write a status except through the subresource', async () => {
    const own = await useNamespace(cluster);
    await cluster.kubectl(['apply', '-n', own, '-f', example('quickstart')]);
    const status = JSON.stringify({ status: { url: 'http://evil.example' } });
    await cluster.kubectl(['patch', 'mep/create-order', '-n', own, '--type=merge', '-p', status]);
    const { stdout } = await cluster.kubectl(['get', 'mep/create-order', '-n', own, '-o', 'jsonpath={.status.url}']);
    expect(stdout).toBe('');
  });

  it.each([
    ['mep.spec.json.body', 'returned verbatim'],
    ['mep.spec.forward.timeout', '2s, 500ms or 1m30s'],
    ['mep.spec.forward.timeout', 'Default: 30s.'],
    ['mpr.spec.retentionDays', 'Default: 30.'],
    ['mre.spec.filter.limit', 'Default: 1000000.'],
    ['mac.status.conditions', 'QuotaAvailable: no requests are rejected'],
    ['msh.status.conditions.type', 'Known types: Accepted, Ready, Reconciling, Stalled.'],
  ])('explains %s: %s', async (field, text) => {
    const { stdout } = await cluster.kubectl(['explain', field]);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(text);
  });

  it('says how to write a path parameter when a slug has other braces', async () => {
    const file = path.join(ROOT, 'crds/testdata/refused/slug-parameter-inside-a-segment.yaml');
    const { stderr } = await cluster.kubectl(['apply', '-n', namespace, '-f', file]);
    expect(stderr).toContain('must have each parameter as a whole segment');
  });

  it.each([['client-side'], ['server-side']])('apply (%s) gives responses the order in the manifest', async (side) => {
    const own = await useNamespace(cluster);
    const apply = async (...names: readonly string[]): Promise<string> => {
      const responses = names.map((name) => ({ name, when: { headers: [{ name, type: 'Present' }] }, body: '{}' }));
      const object = {
        apiVersion: `${API_GROUP}/${API_VERSION}`,
        kind: 'Endpoint',
        metadata: { name: 'ordered', namespace: own },
        spec: {
          projectRef: { name: 'shop' },
          displayName: 'a',
          slug: '/',
          method: 'GET',
          action: 'JSON',
          json: { body: '{}' },
          responses,
        },
      };
      const { code, stderr } = await cluster.kubectl(['apply', `--server-side=${side === 'server-side'}`, '-f', '-'], {
        input: JSON.stringify(object),
      });
      expect([code, stderr]).toEqual([0, '']);
      const format = 'jsonpath={.spec.responses[*].name}';
      return (await cluster.kubectl(['get', 'mep/ordered', '-n', own, '-o', format])).stdout;
    };
    expect(await apply('a', 'b', 'c')).toBe('a b c');
    expect(await apply('c', 'a', 'b')).toBe('c a b');
    expect(await apply('b', 'new', 'c')).toBe('b new c');
  });

  it('lists only objects that are not ready with the command of docs/guides/upgrade.md', async () => {
    const own = await useNamespace(cluster);
    await cluster.kubectl(['create', '-n', own, '-f', example('operations'), '-f', example('quickstart')]);
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Ready', message: 'Live' }];
    const status = { conditions: conditions.map((one) => ({ ...one, lastTransitionTime: '2026-11-21T09:00:00Z' })) };
    const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
    expect(await cluster.kubectl(['patch', 'mpr/shop', '-n', own, ...patch])).toMatchObject({ code: 0 });
    const page = readFileSync(path.join(ROOT, 'docs/guides/upgrade.md'), 'utf8');
    const [, args = ''] = /^\$ kubectl (get \S+) -A --no-headers \| grep -v True /m.exec(page) ?? [];
    const { stdout } = await cluster.kubectl([...args.split(' '), '-n', own, '--no-headers']);
    const names = stdout.split('\n').filter((line) => line !== '' && !line.includes('True'));
    expect(names.map((line) => line.split(' ')[0])).toEqual([
      'account.standin.dev/default',
      'endpoint.standin.dev/cancel-order',
      'endpoint.standin.dev/create-order',
      'endpoint.standin.dev/list-orders',
    ]);
  });

  it('parses YAML like Standin', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'standin-yaml-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const scalars = [
      'y',
      'yes',
      'Off',
      '0x1F',
      '017',
      '0o17',
      '1_000',
      '12:30:45',
      '2001-12-14',
      '~',
      '1e3',
      '+1',
      '=',
      '0b11',
      '.',
      'E0',
      '-.e1',
      '.5',
      '-1.',
      '1.5e3',
    ];
    const values = scalars.map((scalar) => `- ${scalar}\n`).join('');
    const merged = 'base: &base {a: 1, b: 2}\nover: {<<: *base, b: 3}\n';
    const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n${merged}values:\n${values}`;
    const file = path.join(folder, 'scalars.yaml');
    writeFileSync(file, text);
    const create = ['create', '--dry-run=client', '--validate=false', '-n', namespace, '-o', 'json', '-f', file];
    const { stdout, stderr } = await cluster.kubectl(create);
    expect(stderr).toBe('');
    const { values: theirs, over } = JSON.parse(stdout) as { values: unknown[]; over: unknown };
    const ours = parseManifest(text).documents[0]?.value as { values: unknown[]; over: unknown };
    // The comparison excludes 0o17, the YAML 1.2 syntax for octal numbers, which no manifest needs.
    const octal = scalars.indexOf('0o17');
    expect(ours.values.toSpliced(octal, 1)).toEqual(theirs.toSpliced(octal, 1));
    expect(ours.over).toEqual(over);
  });
});

it.each(KINDS)('the CRD of %s has the digest of its schema', async (kind) => {
  const name = `${RESOURCES[kind].plural}.${API_GROUP}`;
  const { stdout } = await cluster.kubectl(['get', 'crd', name, '-o', 'jsonpath={.metadata.annotations}']);
  const annotations = JSON.parse(stdout) as Record<string, string>;
  expect(annotations[SCHEMA_DIGEST_ANNOTATION]).toBe(schemaDigest(DEFINITIONS[kind]));
});
