import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeApiServer, clientFor, json, recordingLogger } from '../testing/fake-api-server.ts';
import { until } from '../testing/until.ts';
import type { KubeClient } from './kube-client.ts';
import type { KubeObject } from './kube-object.ts';
import type { ReflectorHandler } from './reflector-store.ts';
import { SelectedNamespaces } from './selected-namespaces.ts';

const namespaceObject = (name: string, resourceVersion = '1'): KubeObject => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion },
});
const project = (namespace: string, name: string, resourceVersion = '1'): KubeObject => ({
  metadata: { name, namespace, uid: `${namespace}-${name}`, resourceVersion },
});

/** Tests how filters follow a selection. test/e2e/namespace-selector.test.ts tests the selection on a real API server. */
describe('SelectedNamespaces', () => {
  let server: FakeApiServer;
  let client: KubeClient;
  let stop: AbortController;
  let watch: ServerResponse | undefined;
  let reports: string[];
  let selected: SelectedNamespaces;
  let filter: ReflectorHandler<KubeObject>;

  beforeEach(async () => {
    watch = undefined;
    reports = [];
    stop = new AbortController();
    server = new FakeApiServer(({ query }, response) => {
      if (query.get('watch') === 'true') {
        response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
        watch = response;
      } else json(response, 200, { metadata: { resourceVersion: '1' }, items: [namespaceObject('a')] });
    });
    await server.start();
    client = clientFor(server);
    const logger = recordingLogger();
    selected = new SelectedNamespaces({ client, labelSelector: 'serve=yes', logger, signal: stop.signal });
    filter = selected.filter({
      put: ({ metadata }) => reports.push(`put ${metadata.name} ${metadata.resourceVersion ?? ''}`),
      remove: ({ metadata }) => reports.push(`remove ${metadata.name} ${metadata.resourceVersion ?? ''}`),
    });
    await selected.synced;
    await until('the watch', () => watch !== undefined);
  });
  afterEach(async () => {
    stop.abort();
    await server.stop();
    await client.close();
  });

  const send = async (type: 'ADDED' | 'DELETED', name: string): Promise<void> => {
    watch?.write(`${JSON.stringify({ type, object: namespaceObject(name, '2') })}\n`);
    await until(`${type} ${name}`, () => selected.has(name) === (type === 'ADDED'));
  };

  it('asks the API server for the namespaces with the labels', () => {
    expect(server.requests.map(({ path, query }) => `${path} ${query.get('labelSelector') ?? ''}`)).toEqual(
      Array<string>(2).fill('/api/v1/namespaces serve=yes'),
    );
  });

  it('passes on only the objects in selected namespaces', () => {
    filter.put(project('a', 'in-a'));
    filter.put(project('b', 'in-b'));
    filter.remove(project('b', 'in-b'));
    filter.remove(project('a', 'in-a', '2'));
    expect(reports).toEqual(['put in-a 1', 'remove in-a 2']);
  });

  it('passes on the last state of all objects when their namespace is selected', async () => {
    filter.put(project('b', 'one'));
    filter.put(project('b', 'one', '5'));
    filter.put(project('b', 'two'));
    filter.put(project('c', 'three'));
    await send('ADDED', 'b');
    await until('both', () => reports.length === 2);
    expect(reports).toEqual(['put one 5', 'put two 1']);
  });

  it('removes all objects when their namespace is no longer selected, and passes them on again', async () => {
    filter.put(project('a', 'one'));
    await send('DELETED', 'a');
    await until('the removal', () => reports.length === 2);
    filter.put(project('a', 'one', '3'));
    filter.put(project('a', 'two'));
    filter.remove(project('a', 'two'));
    await send('ADDED', 'a');
    await until('the return', () => reports.length === 3);
    expect(reports).toEqual(['put one 1', 'remove one 1', 'put one 3']);
  });

  it('stops passing on the objects of a namespace when it is no longer selected in the meantime', async () => {
    const slow = { puts: 0, removals: 0 };
    const slowFilter = selected.filter({
      put: () => {
        const endsAt = performance.now() + 1;
        while (performance.now() < endsAt);
        slow.puts += 1;
      },
      remove: () => (slow.removals += 1),
    });
    for (let index = 0; index < 1_000; index += 1) slowFilter.put(project('b', `object-${index}`));
    await send('ADDED', 'b');
    await send('DELETED', 'b');
    await until('the removals', () => slow.removals === slow.puts);
    expect(slow.puts).toBeGreaterThan(0);
    expect(slow.puts).toBeLessThan(1_000);
  });
});
