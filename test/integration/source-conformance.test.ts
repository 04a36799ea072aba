import { isDeepStrictEqual } from 'node:util';
import {
  GROUP_VERSION,
  objectKey,
  UPSTREAM_CA_LABEL,
  type ConfigMapObject,
  type LabelledSecret,
  type ObjectRef,
  type ResourceObject,
  type SourceListener,
} from '@standin/contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../e2e/tls-upstream.ts';
import { eventually } from '../harness/eventually.ts';
import { directoryDriver, kubernetesDriver, type Manifest, type SourceDriver } from './source-drivers.ts';

/**
 * Tests the contract of the ports of a source with both implementations. One is a directory of manifests. The other is a real Kubernetes
 * API server with identities and the operator's own ServiceAccount, as the operator uses it.
 */

/** Records the notifications of a source. */
class RecordingListener implements SourceListener {
  readonly objects = new Map<string, ResourceObject>();
  readonly log: string[] = [];

  put(object: ResourceObject): void {
    this.objects.set(objectKey({ kind: object.kind, ...object.metadata }), object);
    this.log.push(`put ${object.metadata.name}`);
  }

  remove(object: ResourceObject): void {
    this.objects.delete(objectKey({ kind: object.kind, ...object.metadata }));
    this.log.push(`remove ${object.metadata.name}`);
  }

  problems(): void {
    this.log.push('problems');
  }

  readonly certificates = new Map<string, ConfigMapObject['data']>();
  readonly configMaps = {
    put: ({ namespace, name, data }: ConfigMapObject) => void this.certificates.set(`${namespace}/${name}`, data),
    remove: ({ namespace, name }: Pick<ConfigMapObject, 'namespace' | 'name'>) =>
      void this.certificates.delete(`${namespace}/${name}`),
    readable: () => undefined,
  };
}

const account = (name: string, monthlyQuota = 1, namespace = 'default'): Manifest => ({
  kind: 'Account',
  namespace,
  name,
  spec: { plan: 'Free', monthlyQuota },
});

const specQuota = (object: ResourceObject | undefined): unknown =>
  (object?.spec as { monthlyQuota?: number } | undefined)?.monthlyQuota;

describe.for([
  ['a directory of manifests', directoryDriver],
  ['the Kubernetes API', kubernetesDriver],
] as const)('%s as a source', ([, open]) => {
  let driver: SourceDriver;
  let listener: RecordingListener;
  let stop: AbortController;

  beforeAll(async () => {
    driver = await open();
  });
  beforeEach(() => {
    listener = new RecordingListener();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await driver.reset();
  });
  afterAll(async () => {
    await driver.close();
  });

  const start = () => driver.source.objects.start(listener, stop.signal);
  const known = (ref: ObjectRef): ResourceObject | undefined => listener.objects.get(objectKey(ref));
  const knownQuota = (ref: ObjectRef, quota: number) =>
    eventually(`${objectKey(ref)} with quota ${quota}`, () => known(ref), {
      accept: (object) => specQuota(object) === quota,
    });
  const knownAtAll = async (ref: ObjectRef): Promise<ResourceObject> => {
    const object = await eventually(objectKey(ref), () => known(ref));
    if (object === undefined) throw new Error(`no ${objectKey(ref)}`);
    return object;
  };

  it('has reported all objects when it has started', async () => {
    await driver.write([account('a'), account('b')]);
    await start();
    expect([...listener.objects.keys()].sort()).toEqual(['Account default/a', 'Account default/b']);
    const { metadata, apiVersion, kind } = await knownAtAll(account('a'));
    expect({ apiVersion, kind }).toEqual({ apiVersion: GROUP_VERSION, kind: 'Account' });
    expect(metadata).toMatchObject({ name: 'a', namespace: 'default', generation: 1 });
    expect(metadata.uid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(Date.now() - Date.parse(metadata.creationTimestamp)).toBeLessThan(60_000);
    expect(metadata.resourceVersion).not.toBe('');
  });

  it('reports objects that are added, changed and removed', async () => {
    await start();
    await driver.write([account('a', 1)]);
    await knownQuota(account('a'), 1);
    await driver.write([account('a', 2)]);
    await knownQuota(account('a'), 2);
    await driver.remove(account('a'));
    await eventually('the removal', () => !listener.objects.has(objectKey(account('a'))));
    expect(listener.log.at(-1)).toBe('remove a');
  });

  it('reports the ConfigMaps with certificates, their changes and their removal, and no others', async () => {
    const { cert } = await selfSigned();
    const { cert: next } = await selfSigned();
    const [namespace] = driver.namespaces;
    const labels = { [UPSTREAM_CA_LABEL]: 'true' };
    const configMap = (name: string, text: string) => ({ namespace, name, labels, data: { 'ca.crt': text } });
    const certificates = () => listener.certificates.get(`${namespace}/ca`)?.['ca.crt'];
    await driver.writeConfigMap(configMap('ca', `# ours\n${cert}\n`));
    await driver.writeConfigMap({ ...configMap('other', cert), labels: {} });
    await start();
    expect([...listener.certificates.keys()]).toEqual([`${namespace}/ca`]);
    expect(certificates()).toEqual({ certificates: cert });
    await driver.writeConfigMap(configMap('ca', next));
    await eventually('the change', certificates, {
      accept: (value) => isDeepStrictEqual(value, { certificates: next }),
    });
    await driver.writeConfigMap(configMap('ca', ''));
    await eventually('the problem', certificates, { accept: (value) => value !== undefined && 'problem' in value });
    await driver.removeConfigMap(configMap('ca', ''));
    await eventually('the removal', () => !listener.certificates.has(`${namespace}/ca`));
  });

  it('distinguishes objects with the same name in two namespaces', async () => {
    const [here, there] = driver.namespaces;
    await driver.write([account('a', 1, here), account('a', 2, there)]);
    await start();
    expect(specQuota(known(account('a', 0, here)))).toBe(1);
    expect(specQuota(known(account('a', 0, there)))).toBe(2);
    expect(known(account('a', 0, here))?.metadata.uid).not.toBe(known(account('a', 0, there))?.metadata.uid);
  });

  it('increases the generation when the spec changes, not for labels or status', async () => {
    await driver.write([account('a', 1)]);
    await start();
    const first = await knownAtAll(account('a'));
    await driver.source.objects.writeStatus(account('a'), { usage: { accepted: 1 } });
    const withStatus = await eventually('the status', () => known(account('a')), {
      accept: (object) =>
        object?.status !== undefined && object.metadata.resourceVersion !== first.metadata.resourceVersion,
    });
    expect(withStatus?.metadata.generation).toBe(1);
    await driver.write([{ ...account('a', 1), labels: { team: 'x' } }]);
    const labelled = await eventually('the label', () => known(account('a')), {
      accept: (object) => object?.metadata.labels?.['team'] === 'x',
    });
    expect(labelled?.metadata.generation).toBe(1);
    expect(labelled?.status).toMatchObject({ usage: { accepted: 1 } });
    await driver.write([account('a', 2)]);
    const changed = await knownQuota(account('a'), 2);
    expect(changed?.metadata.generation).toBe(2);
    expect(changed?.metadata.uid).toBe(first.metadata.uid);
  });

  /**
   * A recreated Account or Project keeps its log, because a directory derives uids from kind, namespace and name, and a cluster has
   * identities (ADR 024). In all other respects, the recreated object is a new object, except that a directory keeps the count of
   * key regenerations.
   */
  it('gives a recreated object the same uid, but no status', async () => {
    await driver.write([account('a', 1)]);
    await start();
    const first = await knownAtAll(account('a'));
    await driver.source.objects.writeStatus(account('a'), { usage: { accepted: 1 } });
    await driver.remove(account('a'));
    await eventually('the removal', () => !listener.objects.has(objectKey(account('a'))));
    await driver.write([account('a', 2)]);
    const second = await knownQuota(account('a'), 2);
    expect(second?.metadata.uid).toBe(first.metadata.uid);
    expect(second?.status).not.toMatchObject({ usage: { accepted: 1 } });
    expect(Date.parse(second?.metadata.creationTimestamp ?? '')).toBeGreaterThanOrEqual(
      Date.parse(first.metadata.creationTimestamp),
    );
  });

  describe('status', () => {
    beforeEach(async () => {
      await driver.write([account('a')]);
      await start();
    });

    it('is merged: null removes a field, other fields stay', async () => {
      await driver.source.objects.writeStatus(account('a'), { usage: { period: '2026-11', accepted: 1 } });
      const written = await driver.source.objects.writeStatus(account('a'), { usage: { period: null, quota: 5 } });
      expect(written.status).toMatchObject({ usage: { accepted: 1, quota: 5 } });
      expect(written.status).not.toHaveProperty('usage.period');
      const reported = await eventually('the status', () => known(account('a')), {
        accept: (object) => object?.metadata.resourceVersion === written.metadata.resourceVersion,
      });
      expect(reported).toEqual(written);
      await expect(driver.source.objects.get(account('a'))).resolves.toEqual(written);
    });

    it('does not count as a write when nothing changes', async () => {
      const first = await driver.source.objects.writeStatus(account('a'), { usage: { accepted: 1 } });
      const second = await driver.source.objects.writeStatus(account('a'), { usage: { accepted: 1 } });
      expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    });

    it('fails with Conflict if the object has changed', async () => {
      const before = await knownAtAll(account('a'));
      const { resourceVersion } = before.metadata;
      await driver.source.objects.writeStatus(account('a'), { usage: { accepted: 1 } }, resourceVersion);
      const stale = driver.source.objects.writeStatus(account('a'), { usage: { accepted: 2 } }, resourceVersion);
      await expect(stale).rejects.toMatchObject({ name: 'SourceError', kind: 'Conflict' });
      await expect(driver.source.objects.get(account('a'))).resolves.toMatchObject({
        status: { usage: { accepted: 1 } },
      });
    });

    it('of a missing object fails with NotFound', async () => {
      const write = driver.source.objects.writeStatus(account('missing'), { usage: { accepted: 1 } });
      await expect(write).rejects.toMatchObject({ name: 'SourceError', kind: 'NotFound' });
    });
  });

  describe('apply, get and delete', () => {
    const desired = (monthlyQuota: number, labels: Readonly<Record<string, string>> = {}) => ({
      apiVersion: GROUP_VERSION,
      kind: 'Account' as const,
      metadata: { name: 'a', namespace: 'default', labels },
      spec: { plan: 'Pro', monthlyQuota },
    });

    it('creates, replaces and deletes', async () => {
      await start();
      await expect(driver.source.objects.get(account('a'))).resolves.toBeUndefined();
      const created = await driver.editor.objects.apply(desired(1, { team: 'x' }));
      expect(created).toMatchObject({ metadata: { generation: 1, labels: { team: 'x' } }, spec: { monthlyQuota: 1 } });
      await driver.source.objects.writeStatus(account('a'), { usage: { accepted: 7 } });
      const replaced = await driver.editor.objects.apply(desired(2));
      expect(replaced).toMatchObject({ metadata: { generation: 2 }, status: { usage: { accepted: 7 } } });
      expect(replaced.metadata.labels ?? {}).toEqual({});
      await expect(driver.source.objects.get(account('a'))).resolves.toEqual(replaced);
      await knownQuota(account('a'), 2);
      await driver.editor.objects.delete(account('a'));
      await expect(driver.source.objects.get(account('a'))).resolves.toBeUndefined();
      await eventually('the removal', () => listener.objects.size === 0);
      await expect(driver.editor.objects.delete(account('a'))).rejects.toMatchObject({
        name: 'SourceError',
        kind: 'NotFound',
      });
    });

    it('does not change an object that is already as desired', async () => {
      const first = await driver.editor.objects.apply(desired(1));
      const second = await driver.editor.objects.apply(desired(1));
      expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    });

    it('rejects an invalid name', async () => {
      const nameless = { ...desired(1), metadata: { name: '../A', namespace: 'default' } };
      await expect(driver.editor.objects.apply(nameless)).rejects.toMatchObject({
        name: 'SourceError',
        kind: 'Invalid',
      });
    });
  });

  describe('Replays', () => {
    const replay = (name: string, state = 'Running') => ({
      apiVersion: GROUP_VERSION,
      kind: 'Replay' as const,
      metadata: { name, namespace: 'default' },
      spec: {
        projectRef: { name: 'shop' },
        requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe',
        target: { kind: 'Endpoint' },
        ratePerSecond: 10,
        order: 'Any',
        state,
      },
    });
    const replayRef = (name: string): ObjectRef => ({ kind: 'Replay', namespace: 'default', name });

    it('are reported, can be changed, keep their status, and get a new uid when they are recreated', async () => {
      await driver.editor.objects.apply(replay('before'));
      await start();
      expect(known(replayRef('before'))).toMatchObject({ kind: 'Replay', metadata: { generation: 1 } });
      const first = await driver.editor.objects.apply(replay('a'));
      await knownAtAll(replayRef('a'));
      const written = await driver.source.objects.writeStatus(replayRef('a'), { observedGeneration: 1 });
      expect(written.status).toMatchObject({ observedGeneration: 1 });
      await expect(driver.editor.objects.get(replayRef('a'))).resolves.toEqual(written);
      const changed = await driver.editor.objects.apply(replay('a', 'Suspended'));
      expect(changed.metadata).toMatchObject({ uid: first.metadata.uid, generation: 2 });
      expect(changed).toMatchObject({ spec: { state: 'Suspended' }, status: { observedGeneration: 1 } });
      await driver.source.objects.delete(replayRef('a'), changed.metadata);
      await eventually('the removal', () => !listener.objects.has(objectKey(replayRef('a'))));
      const second = await driver.editor.objects.apply(replay('a'));
      expect(second.metadata.uid).not.toBe(first.metadata.uid);
      expect(second.status).not.toMatchObject({ observedGeneration: 1 });
    });
  });

  it('deletes only the version that was read', async () => {
    await start();
    const ref: ObjectRef = { kind: 'Replay', namespace: 'default', name: 'a' };
    const replay = (state: string) => ({
      apiVersion: GROUP_VERSION,
      kind: 'Replay' as const,
      metadata: { name: 'a', namespace: 'default' },
      spec: {
        projectRef: { name: 'shop' },
        requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe',
        target: { kind: 'Endpoint' },
        ratePerSecond: 10,
        order: 'Any',
        state,
      },
    });
    const first = await driver.editor.objects.apply(replay('Running'));
    const changed = await driver.editor.objects.apply(replay('Suspended'));
    const conflict = { name: 'SourceError', kind: 'Conflict' };
    await expect(driver.source.objects.delete(ref, first.metadata)).rejects.toMatchObject(conflict);
    await driver.editor.objects.delete(ref);
    await expect(driver.source.objects.delete(ref, changed.metadata)).rejects.toMatchObject({ kind: 'NotFound' });
    const again = await driver.editor.objects.apply(replay('Suspended'));
    await expect(driver.source.objects.delete(ref, changed.metadata)).rejects.toMatchObject(conflict);
    await driver.source.objects.delete(ref, again.metadata);
    await expect(driver.editor.objects.get(ref)).resolves.toBeUndefined();
  });

  describe('secrets', () => {
    it('are created once and read', async () => {
      await driver.write([account('owner')]);
      await start();
      const owner = await knownAtAll(account('owner'));
      const name = `generated-${driver.namespaces.join('-')}`;
      await expect(driver.source.secrets.read('default', name, 'api-key')).resolves.toBeUndefined();
      await driver.source.secrets.create(owner, name, { 'api-key': 'sesame-é' });
      const value = await driver.source.secrets.read('default', name, 'api-key');
      expect(Buffer.from(value ?? []).toString()).toBe('sesame-é');
      await expect(driver.source.secrets.read('default', name, 'other')).resolves.toBeUndefined();
      await expect(driver.source.secrets.read('default', name, '__proto__')).resolves.toBeUndefined();
      const again = driver.source.secrets.create(owner, name, { 'api-key': 'other' });
      await expect(again).rejects.toMatchObject({ name: 'SourceError', kind: 'Conflict' });
    });

    it('are replaced once per mark and created if they are missing', async () => {
      await driver.write([account('owner')]);
      await start();
      const owner = await knownAtAll(account('owner'));
      const [kept, gone] = ['kept', 'gone'].map((name) => `${name}-${driver.namespaces.join('-')}`) as [string, string];
      await driver.source.secrets.create(owner, kept, { 'api-key': 'first' });
      const read = async (name: string): Promise<string> =>
        Buffer.from((await driver.source.secrets.read('default', name, 'api-key')) ?? []).toString();
      for (const name of [kept, gone]) {
        await driver.source.secrets.replace(owner, name, { 'api-key': 'second' }, 'mark-1');
        expect(await read(name)).toBe('second');
        await driver.source.secrets.replace(owner, name, { 'api-key': 'never' }, 'mark-1');
        expect(await read(name)).toBe('second');
        await driver.source.secrets.replace(owner, name, { 'api-key': 'third' }, 'mark-2');
        expect(await read(name)).toBe('third');
      }
    });

    it('of users are read byte for byte and never replaced', async () => {
      const bytes = Buffer.from([0, 255, 10, 13, 195, 40]);
      await driver.writeSecret('default', 'brought', { 'api-key': bytes });
      await start();
      const value = await driver.source.secrets.read('default', 'brought', 'api-key');
      expect(Buffer.from(value ?? [])).toEqual(bytes);
      await driver.write([account('owner')]);
      const owner = await knownAtAll(account('owner'));
      const replaced = driver.source.secrets.replace(owner, 'brought', { 'api-key': 'x' }, 'mark');
      await expect(replaced).rejects.toMatchObject({ name: 'SourceError', kind: 'Invalid' });
      expect(Buffer.from((await driver.source.secrets.read('default', 'brought', 'api-key')) ?? [])).toEqual(bytes);
    });

    it('can be used only with a label, and have another version after a change', async () => {
      const name = `signing-${driver.namespaces.join('-')}`;
      const bytes = Buffer.from([0, 255, 10, 13, 195, 40]);
      const read = () => driver.source.secrets.readLabelled('default', name);
      const written = (accept: (found: LabelledSecret | undefined) => boolean) =>
        eventually('the Secret', read, { accept });
      await start();
      expect(await read()).toBeUndefined();
      await driver.writeSecret('default', name, { current: bytes });
      expect((await written((found) => found !== undefined))?.data.size).toBe(0);
      const label = { 'standin.dev/signing-secret': 'true' };
      await driver.writeSecret('default', name, { current: bytes }, { labels: label });
      const first = await written((found) => found?.uses.includes('Signing') === true);
      expect(new Map([...(first?.data ?? [])].map(([key, value]) => [key, Buffer.from(value)]))).toEqual(
        new Map([['current', bytes]]),
      );
      expect((await read())?.version).toBe(first?.version);
      expect(first).toMatchObject({ uses: ['Signing'], upstreamOrigins: '' });
      const origins = { 'standin.dev/upstream-origins': 'https://a.example' };
      const upstream = { 'standin.dev/upstream-credential': 'true' };
      await driver.writeSecret('default', name, { current: bytes }, { labels: upstream, annotations: origins });
      const second = await written((found) => found?.uses.includes('Upstream') === true);
      expect(second).toMatchObject({ uses: ['Upstream'], upstreamOrigins: 'https://a.example' });
      await driver.writeSecret('default', name, { current: bytes }, { labels: upstream });
      const third = await written((found) => found?.upstreamOrigins === '');
      expect(new Set([first, second, third].map((found) => found?.version)).size).toBe(3);
      await driver.writeSecret('default', name, { current: Buffer.from('other') }, { labels: label });
      await written((found) => found !== undefined && found.version !== first?.version);
      await driver.writeSecret(
        'default',
        name,
        { current: bytes },
        { labels: { 'standin.dev/signing-secret': 'yes' } },
      );
      expect((await written((found) => found?.uses.length === 0))?.data.size).toBe(0);
    });
  });

  it('accepts events, even repeated ones, and never rejects', async () => {
    await driver.write([account('a')]);
    await start();
    const object = await knownAtAll(account('a'));
    const event = { type: 'Warning', reason: 'Invalid', message: `é${'x'.repeat(5_000)}` } as const;
    for (let time = 0; time < 5; time++) await driver.source.events.record(object, event);
    const gone = { ...object, metadata: { ...object.metadata, namespace: 'no-such-namespace' } };
    await driver.source.events.record(gone, event);
  });

  it('survives an outage and reports the changes during it', { timeout: 120_000 }, async () => {
    await driver.write([account('kept', 1), account('changed', 1), account('removed', 1)]);
    await start();
    expect(listener.objects.size).toBe(3);
    await driver.outage({ write: [account('changed', 2), account('added', 1)], remove: [account('removed')] });
    await knownQuota(account('changed'), 2);
    await knownQuota(account('added'), 1);
    await eventually('the removal', () => !listener.objects.has(objectKey(account('removed'))));
    expect(specQuota(known(account('kept')))).toBe(1);
    expect(listener.log).not.toContain('remove kept');
    // Checks that the source still reports changes of an object that the outage did not affect.
    await driver.write([account('kept', 9)]);
    await knownQuota(account('kept'), 9);
  });

  it('reports each of a thousand objects once', { timeout: 120_000 }, async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
    await driver.write(names.map((name) => account(name)));
    await start();
    expect(listener.objects.size).toBe(1_000);
    expect(listener.log.filter((line) => line.startsWith('put'))).toHaveLength(1_000);
    // The list spans several pages, but each object must appear only once.
    const first = new Set([...listener.objects.values()].map(({ metadata }) => metadata.uid));
    expect(first.size).toBe(1_000);
  });

  it('reports nothing after its signal is aborted', async () => {
    await start();
    stop.abort();
    await driver.write([account('late')]);
    await expect(driver.source.objects.get(account('late'))).resolves.toBeDefined();
    expect(listener.log).toEqual([]);
  });
});
