import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeApiServer, clientFor, fail, json, recordingLogger, type SeenRequest } from '../testing/fake-api-server.ts';
import { until } from '../testing/until.ts';
import { systemClock } from './clock.ts';
import type { KubeClient } from './kube-client.ts';
import type { KubeObject } from './kube-object.ts';
import { Reflector } from './reflector.ts';

/**
 * A small API server with a history that can be compacted, like etcd's. It responds with 410 to versions older than `compacted`.
 * All pages of a list show the version of the first page.
 */
class HistoryServer {
  readonly objects = new Map<string, KubeObject>();
  readonly #history: { readonly version: number; readonly line: string }[] = [];
  /** The objects that each paged list found, by the version of the list. */
  readonly #snapshots = new Map<number, readonly KubeObject[]>();
  readonly #watches = new Set<ServerResponse>();
  #version = 1;
  #compacted = 0;
  /** The statuses with which the next requests fail. */
  failures: number[] = [];
  /** Called before each page after the first. */
  beforeNextPage: () => void = () => undefined;

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
    if (token !== null) this.beforeNextPage();
    const [version = this.#version, start = 0] = (token ?? '').split(':').filter(Boolean).map(Number);
    if (version < this.#compacted) {
      fail(response, 410, 'Expired');
      return;
    }
    if (token === null) this.#snapshots.set(version, [...this.objects.values()]);
    const all = this.#snapshots.get(version) ?? [];
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

const STEPS_MAX = 40;
/** Divides all backoffs by 100, so the longest one (5 s) takes 50 ms. */
const IMPATIENT_CLOCK = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal),
};
/** Each step causes at most one backoff, so the backoffs take at most 2 s (40 × 50 ms). The rest allows for a slow machine. */
const AGREEMENT_MS_MAX = 10_000;

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

  /** Runs a reflector while `change` changes the server, until both have the same objects. */
  const expectAgreement = async (api: HistoryServer, change: () => Promise<void>): Promise<void> => {
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
      clock: IMPATIENT_CLOCK,
    });
    const running = reflector.run(stop.signal);
    try {
      await change();
      const wanted = () =>
        [...api.objects.values()].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion ?? ''}`);
      const got = () => [...told].map(([name, version]) => `${name} ${version ?? ''}`);
      await until('agreement', () => wanted().sort().join() === got().sort().join(), AGREEMENT_MS_MAX);
      expect([...reflector.list()]).toHaveLength(api.objects.size);
    } finally {
      // An open watch would prevent the hooks from closing the client.
      stop.abort();
      await running;
      api.cut();
    }
  };

  it("converges to the server's state and reports every difference", { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: STEPS_MAX, size: 'max' }), async (steps) => {
        const api = new HistoryServer();
        api.put('a');
        await expectAgreement(api, () => play(api, steps));
      }),
      { numRuns: 25 },
    );
  });

  it("converges to the server's state if objects change between two pages of a list", async () => {
    const api = new HistoryServer();
    for (const each of ['a', 'b', 'c']) api.put(each);
    let changes = 0;
    api.beforeNextPage = () => {
      changes += 1;
      // Remove the first object, so that the others move forward, and add an object at the end.
      api.remove('a');
      api.put('d');
    };
    await expectAgreement(api, () => until('the second page', () => changes > 0));
    expect(changes).toBe(1);
  });
});
