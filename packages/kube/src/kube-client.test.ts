import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeApiServer, clientFor, fail, json } from '../testing/fake-api-server.ts';
import { ApiError } from './api-error.ts';
import { systemClock, type Clock } from './clock.ts';
import { KubeClient } from './kube-client.ts';
import { anonymousConfig, tokenConfig } from './kube-config.ts';
import { listAll } from './list-all.ts';
import { loadKubeClient } from './load-kube-client.ts';

describe('KubeClient', () => {
  let server: FakeApiServer;

  beforeEach(async () => {
    server = new FakeApiServer((_, response) => json(response, 200, {}));
    await server.start();
  });
  afterEach(() => server.stop());

  it('makes 200 calls over a few connections', async () => {
    const client = clientFor(server);
    for (let call = 0; call < 100; call++) await client.get('/api/v1/namespaces/a');
    await Promise.all(Array.from({ length: 100 }, () => client.get('/api/v1/namespaces/a')));
    expect(server.count('GET')).toBe(200);
    expect(server.connections).toBeLessThanOrEqual(8);
    await client.close();
  });

  it('makes urgent calls over connections that other calls cannot occupy', async () => {
    const held: (() => void)[] = [];
    server.script = ({ path }, response) => {
      if (path === '/held') held.push(() => json(response, 200, {}));
      else json(response, 200, {});
    };
    const client = clientFor(server);
    const others = Array.from({ length: 20 }, () => client.get('/held'));
    await expect.poll(() => held.length).toBe(8);
    await client.get('/x', { lane: 'urgent' });
    server.script = (_, response) => json(response, 200, {});
    for (const release of held) release();
    await Promise.all([...others, ...Array.from({ length: 50 }, () => client.get('/x', { lane: 'urgent' }))]);
    expect(server.connections).toBeLessThanOrEqual(16);
    await client.close();
  });

  it("makes calls with other users' tokens over shared connections, without its own credentials", async () => {
    const own = clientFor(server);
    own.config.loadFromClusterAndUser(
      { name: 'c', server: server.url, skipTLSVerify: true },
      { name: 'own', token: 'own-token' },
    );
    const shared = anonymousConfig(own.config);
    const [anna, berta] = ['anna', 'berta'].map((token) => new KubeClient({ config: tokenConfig(shared, token) }));
    for (let call = 0; call < 10; call++) {
      await anna?.get('/x');
      await berta?.get('/x');
    }
    await own.get('/x');
    const sent = server.requests.map(({ headers }) => headers.authorization);
    expect(new Set(sent.slice(0, -1))).toEqual(new Set(['Bearer anna', 'Bearer berta']));
    expect(sent.at(-1)).toBe('Bearer own-token');
    // Up to eight connections that the two users share, and one for the client `own`.
    expect(server.connections).toBeLessThanOrEqual(9);
    await Promise.all([shared.close(), own.close()]);
  });

  it("does not repeat a call with a user's token that is not valid", async () => {
    server.script = (_, response) => fail(response, 401, 'Unauthorized');
    const shared = anonymousConfig(clientFor(server).config);
    const user = new KubeClient({ config: tokenConfig(shared, 'invented') });
    await expect(user.get('/x')).rejects.toMatchObject({ status: 401 });
    expect(server.requests).toHaveLength(1);
    await shared.close();
  });

  it('repeats a rejected write after the delay that the server requests', async () => {
    const times: number[] = [];
    server.script = (_, response) => {
      times.push(performance.now());
      if (times.length === 1) fail(response, 429, 'TooManyRequests', { 'retry-after': '1' });
      else json(response, 201, { made: true });
    };
    const client = clientFor(server);
    await expect(client.create('/api/v1/namespaces/a/secrets', {})).resolves.toEqual({ made: true });
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(1_000);
    await client.close();
  });

  it.for([
    ['GET', 503, 2],
    ['PATCH', 500, 2],
    ['DELETE', 503, 2],
    ['POST', 503, 1],
    ['GET', 404, 1],
    ['PUT', 409, 1],
  ] as const)('sends a %s that gets status %i this many times: %i', async ([method, status, attempts]) => {
    server.script = (_, response) => {
      if (server.requests.length === 1) fail(response, status, 'Scripted');
      else json(response, 200, {});
    };
    const client = clientFor(server);
    const result = client.request({ method, path: '/x', ...(method === 'GET' ? {} : { body: {} }) });
    if (attempts === 1)
      await expect(result).rejects.toMatchObject({ status, reason: 'Scripted', message: 'scripted: Scripted' });
    else await result;
    expect(server.requests).toHaveLength(attempts);
    await client.close();
  });

  it("gives up after six attempts with the server's message", async () => {
    server.script = (_, response) => fail(response, 503, 'Overloaded');
    const client = clientFor(server, { clock: hurried });
    await expect(client.get('/x')).rejects.toBeInstanceOf(ApiError);
    expect(server.requests).toHaveLength(6);
    await client.close();
  });

  it('reports an unreachable server with its address', async () => {
    await server.stop();
    const client = clientFor(server);
    await expect(client.get('/x', { once: true })).rejects.toMatchObject({
      status: 0,
      reason: 'Unreachable',
      message: expect.stringContaining(`${server.url} did not respond: connect ECONNREFUSED`) as string,
    });
    await server.start();
  });

  it('ends a call that gets no response in time', async () => {
    server.script = () => undefined;
    const client = clientFor(server);
    await expect(client.get('/x', { once: true, timeoutMs: 50 })).rejects.toMatchObject({ reason: 'Unreachable' });
    await client.close();
  });

  it('rejects with the reason of its signal', async () => {
    server.script = () => undefined;
    const client = clientFor(server);
    const abort = new AbortController();
    const call = client.get('/x', { signal: abort.signal });
    abort.abort(new Error('stop'));
    await expect(call).rejects.toThrow('stop');
    await client.close();
  });

  it('replaces and deletes only the version that was read', async () => {
    const client = clientFor(server);
    const version = { uid: 'u', resourceVersion: '7' };
    await client.replace('/x', { metadata: { name: 'a' } }, version);
    await client.remove('/x', { preconditions: version });
    expect(server.requests.map(({ method, body }) => [method, body])).toEqual([
      ['PUT', { metadata: { name: 'a', ...version } }],
      ['DELETE', { preconditions: version }],
    ]);
    await client.close();
  });

  it('does not delete a new object when a deletion by name is repeated', async () => {
    let uid = 'first';
    server.script = ({ method, body }, response) => {
      if (method === 'GET') json(response, 200, { metadata: { name: 'a', uid } });
      else if ((body as { preconditions: { uid: string } }).preconditions.uid !== uid) fail(response, 409, 'Conflict');
      else {
        uid = 'second';
        // The response is lost after the object was deleted and created again.
        response.destroy();
      }
    };
    const client = clientFor(server, { clock: hurried });
    await expect(client.removeByName('/x')).rejects.toMatchObject({ status: 409 });
    expect(server.count('DELETE')).toBe(2);
    await client.close();
  });

  it('writes patches as merge patches, with its field manager', async () => {
    const client = clientFor(server);
    await client.mergePatch('/x/status', { status: { a: null } }, { query: { fieldManager: 'me', dryRun: undefined } });
    expect(server.requests[0]).toMatchObject({ method: 'PATCH', body: { status: { a: null } } });
    expect(server.requests[0]?.headers['content-type']).toBe('application/merge-patch+json');
    expect(server.requests[0]?.query.toString()).toBe('fieldManager=me');
    await client.close();
  });

  it('limits the rate of writes in each lane separately, but not of reads or of calls in its own lane', async () => {
    const waits: number[] = [];
    const clock: Clock = {
      ...systemClock,
      now: () => 0,
      sleep: (ms) => {
        waits.push(ms);
        return Promise.resolve();
      },
    };
    const client = clientFor(server, { writeRate: { qps: 20, burst: 5 }, clock });
    await Promise.all(Array.from({ length: 50 }, () => client.get('/x')));
    await Promise.all(Array.from({ length: 50 }, () => client.mergePatch('/x', {}, { lane: 'own' })));
    expect(waits).toEqual([]);
    await Promise.all(Array.from({ length: 9 }, () => client.mergePatch('/x', {})));
    // Five writes start immediately, and the others start at 20 per second.
    expect(waits).toEqual([50, 100, 150, 200]);
    waits.length = 0;
    await Promise.all(Array.from({ length: 6 }, () => client.mergePatch('/x', {}, { lane: 'urgent' })));
    expect(waits).toEqual([50]);
    await client.close();
  });

  it('counts requests as client-go does', async () => {
    const registry = new Registry();
    const client = clientFor(server, { registry });
    await client.get('/x');
    await expect(registry.metrics()).resolves.toContain(
      `rest_client_requests_total{code="200",method="GET",host="${new URL(server.url).host}"} 1`,
    );
    await client.close();
  });

  describe('listAll', () => {
    const item = (name: string) => ({ metadata: { name, resourceVersion: '1' } });

    it('reads page by page', async () => {
      server.script = ({ query }, response) => {
        const page = Number(query.get('continue') ?? '0');
        const metadata = page < 2 ? { resourceVersion: '9', continue: String(page + 1) } : { resourceVersion: '9' };
        json(response, 200, { metadata, items: [item(`a${page}`)] });
      };
      const client = clientFor(server);
      const { items, resourceVersion } = await listAll(client, '/x', { pageSize: 1 });
      expect(items.map(({ metadata }) => metadata.name)).toEqual(['a0', 'a1', 'a2']);
      expect(resourceVersion).toBe('9');
      expect(server.requests.map(({ query }) => query.get('limit'))).toEqual(['1', '1', '1']);
      await client.close();
    });

    it('reads fewer large objects at a time, and more again when they are small', async () => {
      const isLarge = (at: number): boolean => at >= 100 && at < 120;
      server.script = ({ query }, response) => {
        const from = Number(query.get('continue') ?? '0');
        const to = Math.min(1_000, from + Number(query.get('limit')));
        const items = Array.from({ length: to - from }, (_, index) => {
          const name = `a${from + index}`;
          return { ...item(name), spec: isLarge(from + index) ? 'x'.repeat(1_400_000) : '' };
        });
        json(response, 200, { metadata: { resourceVersion: '9', continue: to < 1_000 ? String(to) : '' }, items });
      };
      const client = clientFor(server);
      const { items } = await listAll(client, '/x');
      expect(items.map(({ metadata }) => metadata.name)).toEqual(Array.from({ length: 1_000 }, (_, n) => `a${n}`));
      expect(server.requests.length).toBeLessThan(40);
      await client.close();
    });

    it('reads an object that is larger than a page may be', async () => {
      server.script = ({ query }, response) => {
        const from = Number(query.get('continue') ?? '0');
        const to = Math.min(3, from + Number(query.get('limit')));
        const items = Array.from({ length: to - from }, (_, index) => ({
          ...item(`a${from + index}`),
          spec: from + index === 1 ? '<'.repeat(9_000_000) : '',
        }));
        json(response, 200, { metadata: { resourceVersion: '9', continue: to < 3 ? String(to) : '' }, items });
      };
      const client = clientFor(server);
      const { items } = await listAll(client, '/x');
      expect(items.map(({ metadata }) => metadata.name)).toEqual(['a0', 'a1', 'a2']);
      await client.close();
    });

    it('lists once without pages when the continue token has expired', async () => {
      server.script = ({ query }, response) => {
        if (query.has('continue')) fail(response, 410, 'Expired');
        else if (query.has('limit'))
          json(response, 200, { metadata: { resourceVersion: '1', continue: 'old' }, items: [item('a')] });
        else json(response, 200, { metadata: { resourceVersion: '2' }, items: [item('a'), item('b')] });
      };
      const client = clientFor(server);
      const { items, resourceVersion } = await listAll(client, '/x');
      expect(items).toHaveLength(2);
      expect(resourceVersion).toBe('2');
      await client.close();
    });

    it('treats a null list as empty', async () => {
      server.script = (_, response) => json(response, 200, { metadata: { resourceVersion: '1' }, items: null });
      const client = clientFor(server);
      await expect(listAll(client, '/x')).resolves.toEqual({ items: [], resourceVersion: '1' });
      await client.close();
    });
  });

  describe('from a kubeconfig', () => {
    let folder: string;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kube-client-'));
    });
    afterEach(() => rm(folder, { recursive: true }));

    const kubeconfig = (user: object) =>
      JSON.stringify({
        'current-context': 'one',
        contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server: server.url, 'insecure-skip-tls-verify': true } }],
        users: [{ name: 'u', user }],
      });

    it('re-reads a rotated token file when the server rejects the old token', async () => {
      const path = join(folder, 'config');
      await writeFile(path, kubeconfig({ tokenFile: 'token' }));
      await writeFile(join(folder, 'token'), 'first\n');
      let valid = 'Bearer first';
      server.script = ({ headers }, response) => {
        if (headers.authorization === valid) json(response, 200, {});
        else fail(response, 401, 'Unauthorized');
      };
      const client = loadKubeClient({ kubeconfigPath: path });
      await client.get('/x');
      valid = 'Bearer second';
      await writeFile(join(folder, 'token'), 'second\n');
      await client.get('/x');
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
        'Bearer first',
        'Bearer first',
        'Bearer second',
      ]);
      await client.close();
    });

    it('lists the existing contexts if the requested one is missing', async () => {
      const path = join(folder, 'config');
      await writeFile(path, kubeconfig({ token: 't' }));
      expect(() => loadKubeClient({ kubeconfigPath: path, context: 'other' })).toThrow(
        'the kubeconfig has no context "other"; its contexts are: one',
      );
    });
  });
});

/** The system clock with sleeps that end immediately. */
const hurried = {
  now: () => performance.now(),
  date: () => new Date(),
  random: () => 0,
  sleep: () => Promise.resolve(),
};
