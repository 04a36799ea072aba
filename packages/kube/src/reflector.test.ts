import type { ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeApiServer, clientFor, fail, json, recordingLogger, type SeenRequest } from '../testing/fake-api-server.ts';
import { until } from '../testing/until.ts';
import type { KubeClient } from './kube-client.ts';
import type { KubeObject } from './kube-object.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

const object = (name: string, resourceVersion: number, uid = `uid-${name}`): KubeObject => ({
  metadata: { name, namespace: 'ns', uid, resourceVersion: String(resourceVersion) },
});

const isWatch = ({ query }: SeenRequest): boolean => query.get('watch') === 'true';
const isList = (request: SeenRequest): boolean => !isWatch(request);

/** A scripted cluster. Lists return `objects` at `version`. All watches that were opened are in `watches`, in order. */
class Cluster {
  objects: KubeObject[] = [];
  version = 1;
  readonly watches: ServerResponse[] = [];

  readonly script = (request: SeenRequest, response: ServerResponse): void => {
    if (isWatch(request)) this.openWatch(response);
    else this.list(response);
  };

  list(response: ServerResponse): void {
    json(response, 200, { metadata: { resourceVersion: String(this.version) }, items: this.objects });
  }

  openWatch(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    this.watches.push(response);
  }

  get watch(): ServerResponse {
    const watch = this.watches.at(-1);
    if (watch === undefined) throw new Error('no watch was opened');
    return watch;
  }

  send(type: string, sent: object): void {
    this.watch.write(`${JSON.stringify({ type, object: sent })}\n`);
  }
}

describe('Reflector', () => {
  let server: FakeApiServer;
  let cluster: Cluster;
  let client: KubeClient;
  let stop: AbortController;
  let running: Promise<void> | undefined;
  let told: string[];

  beforeEach(async () => {
    cluster = new Cluster();
    server = new FakeApiServer(cluster.script);
    await server.start();
    client = clientFor(server);
    stop = new AbortController();
    running = undefined;
    told = [];
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await server.stop();
    await client.close();
  });

  const start = (options: Partial<ReflectorOptions<KubeObject>> = {}): Reflector => {
    const reflector = new Reflector({
      client,
      path: '/apis/standin.dev/v1alpha1/mockendpoints',
      resource: 'mockendpoints',
      handler: {
        put: ({ metadata }) => told.push(`put ${metadata.name} ${metadata.resourceVersion ?? ''}`),
        remove: ({ metadata }) => told.push(`remove ${metadata.name}`),
      },
      logger: recordingLogger(),
      ...options,
    });
    running = reflector.run(stop.signal);
    return reflector;
  };

  const watching = (count: number) => until(`watch ${count}`, () => cluster.watches.length >= count);
  const tellings = (count: number) => until(`${count} tellings`, () => told.length >= count);

  it('reports the listed objects and then the changes', async () => {
    cluster.objects = [object('a', 1), object('b', 1)];
    const reflector = start();
    await reflector.synced;
    expect(told).toEqual(['put a 1', 'put b 1']);
    await watching(1);
    cluster.send('ADDED', object('c', 2));
    cluster.send('MODIFIED', object('a', 3));
    cluster.send('DELETED', object('b', 4));
    await tellings(5);
    expect(told.slice(2)).toEqual(['put c 2', 'put a 3', 'remove b']);
    expect([...reflector.list()].map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
    expect(reflector.get('ns/a')?.metadata.resourceVersion).toBe('3');
  });

  it('lets other work run while a handler takes a long time', async () => {
    const counts = new Set<number>();
    const countEachTurn = () => {
      counts.add(told.length);
      if (!stop.signal.aborted) setImmediate(countEachTurn);
    };
    countEachTurn();
    const slow = ({ metadata }: KubeObject): void => {
      for (const endMs = performance.now() + 60; performance.now() < endMs;);
      told.push(metadata.name);
    };
    cluster.objects = [object('a', 1), object('b', 1), object('c', 1)];
    start({ handler: { put: slow, remove: slow } });
    await watching(1);
    const events = ['d', 'e', 'f'].map((name) => ({ type: 'ADDED', object: object(name, 2) }));
    cluster.watch.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    await tellings(6);
    expect([...counts].sort()).toEqual(expect.arrayContaining([0, 1, 2, 3, 4, 5]));
  });

  it('requests pages, bookmarks, and a random watch timeout', async () => {
    start();
    await watching(1);
    const [list, watch] = server.requests;
    expect(list?.query.get('limit')).toBe('500');
    expect(Object.fromEntries(watch?.query ?? [])).toMatchObject({ allowWatchBookmarks: 'true', resourceVersion: '1' });
    const seconds = Number(watch?.query.get('timeoutSeconds'));
    expect(seconds).toBeGreaterThanOrEqual(240);
    expect(seconds).toBeLessThanOrEqual(300);
  });

  it('continues from the last bookmark when the server ends the watch', async () => {
    start();
    await watching(1);
    cluster.send('BOOKMARK', object('', 77));
    cluster.watch.end();
    await watching(2);
    expect(server.requests.filter(isWatch).at(-1)?.query.get('resourceVersion')).toBe('77');
    expect(server.count('GET', isList)).toBe(1);
    expect(told).toEqual([]);
  });

  it.for([
    [
      'an ERROR event 410',
      (watches: Cluster) => watches.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired' }),
    ],
    ['an ERROR event 500', (watches: Cluster) => watches.send('ERROR', { kind: 'Status', code: 500 })],
    ['a malformed line', (watches: Cluster) => watches.watch.write('{"type":"ADD\n')],
  ] as const)('lists again after %s and reports the deletions in the gap', async ([, fault]) => {
    cluster.objects = [object('a', 1), object('b', 1)];
    start();
    await watching(1);
    cluster.objects = [object('b', 5)];
    cluster.version = 5;
    fault(cluster);
    await watching(2);
    expect(told.slice(2)).toEqual(['put b 5', 'remove a']);
    expect(server.requests.filter(isWatch).at(-1)?.query.get('resourceVersion')).toBe('5');
  });

  it('lists again when a watch gets status 410', async () => {
    server.script = (request, response) => {
      if (isWatch(request) && server.count('GET', isWatch) === 1) fail(response, 410, 'Expired');
      else cluster.script(request, response);
    };
    start();
    await watching(1);
    expect(server.count('GET', isList)).toBe(2);
  });

  it('survives failed lists and has no state before the first successful one', async () => {
    cluster.objects = [object('a', 1)];
    server.script = (request, response) => {
      if (server.requests.length <= 3) fail(response, 500, 'InternalError');
      else cluster.script(request, response);
    };
    const reflector = start();
    await until('a failed list', () => server.requests.length >= 2);
    expect(reflector.secondsSinceContact()).toBeUndefined();
    await reflector.synced;
    expect(told).toEqual(['put a 1']);
  });

  it('keeps its objects through a failed relist', async () => {
    cluster.objects = [object('a', 1)];
    const reflector = start();
    await watching(1);
    server.script = (_, response) => fail(response, 500, 'InternalError');
    cluster.watch.destroy();
    await until('two failures', () => server.requests.length >= 4);
    expect(reflector.get('ns/a')).toBeDefined();
    expect(told).toEqual(['put a 1']);
    server.script = cluster.script;
    await watching(2);
  });

  it('reports when a permission is withdrawn and when it is granted again', async () => {
    cluster.objects = [object('a', 1)];
    start({ onRefused: () => told.push('refused'), onWatching: () => told.push('watching') });
    await tellings(2);
    server.script = (_, response) => fail(response, 403, 'Forbidden');
    cluster.watch.destroy();
    await tellings(3);
    server.script = cluster.script;
    await until('the next watch', () => told.at(-1) === 'watching');
    expect([...new Set(told)]).toEqual(['put a 1', 'watching', 'refused']);
    expect(told.indexOf('refused')).toBe(2);
  });

  it('does not list again if only the connection breaks', async () => {
    start();
    await watching(1);
    cluster.send('ADDED', object('a', 9));
    await tellings(1);
    cluster.watch.destroy();
    await watching(2);
    expect(server.count('GET', isList)).toBe(1);
    expect(server.requests.at(-1)?.query.get('resourceVersion')).toBe('9');
  });

  it('detects a half-open watch', async () => {
    start({ idleMs: 1_000 });
    await watching(1);
    await watching(2);
    expect(server.count('GET', isList)).toBe(1);
  });

  it('lists again within two seconds after an unavailable server returns', { timeout: 15_000 }, async () => {
    cluster.objects = [object('a', 1)];
    start();
    await watching(1);
    await server.stop();
    // Long enough for the backoff to reach its maximum.
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    cluster.objects = [];
    await server.start();
    const backAt = performance.now();
    await tellings(2);
    expect(performance.now() - backAt).toBeLessThan(2_000);
    expect(told).toEqual(['put a 1', 'remove a']);
  });

  it('waits for the delay that the server requests', async () => {
    server.script = (request, response) => {
      if (server.requests.length === 1) fail(response, 429, 'TooManyRequests', { 'retry-after': '1' });
      else cluster.script(request, response);
    };
    const startedAt = performance.now();
    await start().synced;
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1_000);
  });

  it.each([429, 500, 503])(
    'does not report a server that responds with %i for a moment as a refusal',
    async (status) => {
      server.script = (request, response) => {
        if (server.requests.length <= 2) fail(response, status, 'Unavailable');
        else cluster.script(request, response);
      };
      await start({ onRefused: () => told.push('refused') }).synced;
      expect(told).toEqual([]);
    },
  );

  it('survives a callback that throws', async () => {
    const logger = recordingLogger();
    const registry = new Registry();
    start({
      logger,
      registry,
      handler: {
        put: ({ metadata }) => {
          told.push(metadata.name);
          if (metadata.name === 'bad') throw new Error('a defect');
        },
        remove: () => undefined,
      },
    });
    await watching(1);
    cluster.send('ADDED', object('bad', 2));
    cluster.send('ADDED', object('good', 3));
    await tellings(2);
    expect(told).toEqual(['bad', 'good']);
    expect(logger.lines).toContainEqual({ level: 'error', message: 'reflector callback threw' });
    await expect(registry.metrics()).resolves.toContain(
      'standin_reflector_handler_errors_total{resource="mockendpoints",exported_namespace=""} 1',
    );
  });

  it('reports an object that was deleted and created again in a gap as two objects', async () => {
    cluster.objects = [object('a', 1, 'first')];
    start();
    await watching(1);
    cluster.objects = [object('a', 8, 'second')];
    cluster.send('ERROR', { kind: 'Status', code: 410 });
    await tellings(3);
    expect(told).toEqual(['put a 1', 'remove a', 'put a 8']);
  });

  it('restarts a watch that ends immediately, with increasing pauses', async () => {
    server.script = (request, response) => {
      if (isWatch(request)) response.writeHead(200).end();
      else cluster.list(response);
    };
    start();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(server.count('GET', isWatch)).toBeLessThan(8);
  });

  it('stops immediately, even during a pause, and sends no further requests', async () => {
    server.script = (_, response) => fail(response, 500, 'InternalError');
    const reflector = start();
    await until('some failures', () => server.requests.length >= 3);
    stop.abort();
    await running;
    const requests = server.requests.length;
    await expect(reflector.synced).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(server.requests).toHaveLength(requests);
  });

  it("reports the time since the server's last message", async () => {
    const registry = new Registry();
    start({ registry });
    await watching(1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const value = async () =>
      Number(/standin_reflector_last_sync_seconds\{[^}]*\} (\S+)/.exec(await registry.metrics())?.[1]);
    expect(await value()).toBeGreaterThan(0.15);
    cluster.send('BOOKMARK', object('', 2));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await value()).toBeLessThan(0.15);
  });
});
