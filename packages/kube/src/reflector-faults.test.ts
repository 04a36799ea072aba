import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeApiServer, clientFor, fail, json, recordingLogger, type SeenRequest } from '../testing/fake-api-server.ts';
import { until } from '../testing/until.ts';
import type { KubeClient } from './kube-client.ts';
import type { KubeObject } from './kube-object.ts';
import { Reflector } from './reflector.ts';

/** A small API server with a history that can be compacted, as in etcd: it responds with 410 to versions older than `compacted`. */
class HistoryServer {
  readonly objects = new Map<string, KubeObject>();
  readonly #history: { readonly version: number; readonly line: string }[] = [];
  readonly #watches = new Set<ServerResponse>();
  #version = 1;
  #compacted = 0;
  /** The statuses of the next requests, which fail. */
  failures: number[] = [];

  readonly script = ({ query }: SeenRequest, response: ServerResponse): void => {
    const failure = this.failures.shift();
    if (failure !== undefined) fail(response, failure, 'Scripted');
    else if (query.get('watch') === 'true') this.#watch(Number(query.get('resourceVersion')), response);
    else this.#list(Number(query.get('limit')), query.get('continue'), response);
  };

  put(name: string): void {
    const known = this.objects.has(name);
    this.#version += 1;
    const object = { metadata: { name, namespace: 'ns', uid: name, resourceVersion: String(this.#version) } };
    this.objects.set(name, object);
    this.#tell(known ? 'MODIFIED' : 'ADDED', object);
  }

  remove(name: string): void {
    const object = this.objects.get(name);
    if (object === undefined) return;
    this.#version += 1;
    this.objects.delete(name);
    this.#tell('DELETED', { metadata: { ...object.metadata, resourceVersion: String(this.#version) } });
  }

  compact(): void {
    this.#compacted = this.#version;
  }

  cut(): void {
    for (const watch of this.#watches) watch.destroy();
    this.#watches.clear();
  }

  end(): void {
    for (const watch of this.#watches) watch.end();
    this.#watches.clear();
  }

  garble(): void {
    for (const watch of this.#watches) watch.write('{"type":"ADDED","object"\n');
  }

  #tell(type: string, object: KubeObject): void {
    const line = `${JSON.stringify({ type, object })}\n`;
    this.#history.push({ version: this.#version, line });
    for (const watch of this.#watches) watch.write(line);
  }

  #watch(from: number, response: ServerResponse): void {
    response.writeHead(200).flushHeaders();
    if (from < this.#compacted) {
      response.end(`${JSON.stringify({ type: 'ERROR', object: { code: 410, reason: 'Expired' } })}\n`);
      return;
    }
    for (const { version, line } of this.#history) if (version > from) response.write(line);
    this.#watches.add(response);
    response.on('close', () => this.#watches.delete(response));
  }

  #list(limit: number, token: string | null, response: ServerResponse): void {
    const all = [...this.objects.values()];
    const [version = this.#version, start = 0] = (token ?? '').split(':').filter(Boolean).map(Number);
    if (version < this.#compacted) {
      fail(response, 410, 'Expired');
      return;
    }
    const end = limit === 0 ? all.length : start + limit;
    const metadata = {
      resourceVersion: String(version),
      ...(end < all.length ? { continue: `${version}:${end}` } : {}),
    };
    json(response, 200, { metadata, items: all.slice(start, end) });
  }
}

type Step =
  | { readonly kind: 'put' | 'remove'; readonly name: string }
  | { readonly kind: 'fail'; readonly status: number }
  | { readonly kind: 'cut' | 'end' | 'garble' | 'compact' | 'wait' };

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('put', 'remove'), name }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('cut', 'end', 'garble', 'compact', 'wait') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail'), status: fc.constantFrom(410, 500, 503, 403) }) },
);

describe('Reflector under faults', () => {
  let server: FakeApiServer;
  let client: KubeClient;

  beforeEach(async () => {
    server = new FakeApiServer(() => undefined);
    await server.start();
    client = clientFor(server);
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  const play = async (api: HistoryServer, steps: readonly Step[]): Promise<void> => {
    for (const each of steps) {
      if (each.kind === 'put' || each.kind === 'remove') api[each.kind](each.name);
      else if (each.kind === 'fail') api.failures.push(each.status);
      else if (each.kind === 'wait') await new Promise((resolve) => setTimeout(resolve, 20));
      else api[each.kind]();
    }
  };

  it('ends with what the server has, and has told each difference', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
        const api = new HistoryServer();
        api.put('a');
        server.script = api.script;
        const told = new Map<string, string | undefined>();
        const stop = new AbortController();
        const reflector = new Reflector({
          client,
          path: '/x',
          resource: 'x',
          pageSize: 2,
          handler: {
            put: ({ metadata }) => told.set(metadata.name, metadata.resourceVersion),
            remove: ({ metadata }) => told.delete(metadata.name),
          },
          logger: recordingLogger(),
        });
        const running = reflector.run(stop.signal);
        await play(api, steps);
        const wanted = () =>
          [...api.objects.values()].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion ?? ''}`);
        const got = () => [...told].map(([name, version]) => `${name} ${version ?? ''}`);
        await until('agreement', () => wanted().sort().join() === got().sort().join(), 10_000);
        expect([...reflector.list()]).toHaveLength(api.objects.size);
        stop.abort();
        await running;
        api.cut();
      }),
      { numRuns: 25 },
    );
  });
});
