import { describe, expect, test, vi } from 'vitest';
import { rawResponse, egressWith, get, upstreamWith } from './egress.testing.ts';
import { FairLookups, LOOKUPS_MAX } from './fair-lookups.ts';
import type { Probe } from './lookup.ts';

const ADDRESSES = [{ address: '127.0.0.1', family: 4 }];
const settled = () => new Promise(setImmediate);

/** Starts lookups that the test ends by name. Records the names in the order in which their lookups begin. */
const startLookups = (probe: Probe = () => Promise.resolve(true)) => {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<typeof ADDRESSES>>();
  const lookups = new FairLookups((hostname) => {
    begun.push(hostname);
    const end = Promise.withResolvers<typeof ADDRESSES>();
    ends.set(hostname, end);
    return end.promise;
  }, probe);
  const lookUp = (namespace: string, hostname: string, signal = new AbortController().signal) =>
    lookups.lookUp(hostname, { namespace, signal });
  const end = async (hostname: string): Promise<void> => {
    ends.get(hostname)?.resolve(ADDRESSES);
    await settled();
  };
  return { lookUp, begun, ends, end };
};

/** Occupies all lookups with those of other namespaces. */
const occupyAll = async ({ lookUp, begun }: ReturnType<typeof startLookups>): Promise<void> => {
  for (let index = 0; index < LOOKUPS_MAX; index += 1) void lookUp(`other-${index}`, `${index}.test`);
  await settled();
  begun.length = 0;
};

describe('a lookup', () => {
  test('is shared by connections of the same namespace, until it ends', async () => {
    const { lookUp, begun, end } = startLookups();
    const both = Promise.all([lookUp('a', 'x.test'), lookUp('a', 'x.test')]);
    await settled();
    expect(begun).toEqual(['x.test']);
    await end('x.test');
    expect(await both).toEqual([ADDRESSES, ADDRESSES]);
    void lookUp('a', 'x.test');
    await settled();
    expect(begun).toEqual(['x.test', 'x.test']);
  });

  test('is not shared with another namespace', async () => {
    const { lookUp, begun } = startLookups();
    for (const namespace of ['a', 'b']) void lookUp(namespace, 'x.test');
    await settled();
    expect(begun).toEqual(['x.test', 'x.test']);
  });

  test('that fails rejects for each connection, and is repeated for the next one', async () => {
    const { lookUp, begun, ends } = startLookups();
    const both = Promise.allSettled([lookUp('a', 'x.test'), lookUp('a', 'x.test')]);
    await settled();
    const reason = Object.assign(new Error('getaddrinfo ENOTFOUND x.test'), { code: 'ENOTFOUND' });
    ends.get('x.test')?.reject(reason);
    const failed = { status: 'rejected', reason };
    expect(await both).toEqual([failed, failed]);
    void lookUp('a', 'x.test');
    await settled();
    expect(begun).toHaveLength(2);
  });

  test('leaves the line when no connection waits for it any more', async () => {
    const lookups = startLookups();
    const { lookUp, begun, end } = lookups;
    await occupyAll(lookups);
    const [first, second] = [new AbortController(), new AbortController()];
    const left = lookUp('a', 'left.test', first.signal);
    const kept = Promise.allSettled([lookUp('b', 'kept.test', first.signal), lookUp('b', 'kept.test', second.signal)]);
    await settled();
    first.abort(new Error('too late'));
    await expect(left).rejects.toThrow('too late');
    for (let index = 0; index < LOOKUPS_MAX; index += 1) await end(`${index}.test`);
    expect(begun).toEqual(['kept.test']);
    await end('kept.test');
    expect(await kept).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled' }]);
  });

  test('is added to the line again for a connection that needs it later', async () => {
    const lookups = startLookups();
    const { lookUp, begun, end } = lookups;
    await occupyAll(lookups);
    const aborts = new AbortController();
    const left = lookUp('a', 'x.test', aborts.signal);
    aborts.abort(new Error('too late'));
    const again = lookUp('a', 'x.test');
    await expect(left).rejects.toThrow('too late');
    await end(`${LOOKUPS_MAX - 1}.test`);
    expect(begun).toEqual(['x.test']);
    await end('x.test');
    expect(await again).toEqual(ADDRESSES);
  });

  test('that has begun is shared by later connections, even if the earlier ones do not wait any more', async () => {
    const { lookUp, begun, end } = startLookups();
    const aborts = new AbortController();
    const left = lookUp('a', 'x.test', aborts.signal);
    await settled();
    aborts.abort(new Error('too late'));
    await expect(left).rejects.toThrow('too late');
    const again = lookUp('a', 'x.test');
    await settled();
    expect(begun).toEqual(['x.test']);
    await end('x.test');
    expect(await again).toEqual(ADDRESSES);
  });
});

describe('names without a response from a name server', () => {
  /** Names that begin with `silent` have no name server that responds. */
  const probes: string[] = [];
  const probe: Probe = (hostname) => {
    probes.push(hostname);
    return hostname.startsWith('silent') ? settled().then(() => false) : Promise.resolve(true);
  };
  /** Returns lookups of which many hostile namespaces have all that they can get. */
  const besieged = async () => {
    const lookups = startLookups(probe);
    for (let index = 0; index < 4 * LOOKUPS_MAX; index += 1)
      void lookups.lookUp(`hostile-${index}`, `silent-${index}.test`).catch(() => undefined);
    for (let turn = 0; turn < 10; turn += 1) await settled();
    return lookups;
  };

  test('of several namespaces take half of all lookups, and others are looked up in the other half', async () => {
    const { lookUp, begun, end } = await besieged();
    expect(begun).toHaveLength(Math.ceil(LOOKUPS_MAX / 2));
    for (const hostname of ['a.test', 'b.test']) {
      const addresses = lookUp('honest', hostname);
      await settled();
      await end(hostname);
      expect(await addresses).toEqual(ADDRESSES);
    }
    expect(begun).toHaveLength(Math.ceil(LOOKUPS_MAX / 2) + 2);
  });

  test('have their turn when there is room', async () => {
    const { lookUp, begun, end } = await besieged();
    const addresses = lookUp('honest', 'silent-hosts-file.test');
    for (let index = 0; index < 4 * LOOKUPS_MAX; index += 1) await end(`silent-${index}.test`);
    expect(begun).toContain('silent-hosts-file.test');
    await end('silent-hosts-file.test');
    expect(await addresses).toEqual(ADDRESSES);
  });

  test('keep their places while they are probed, and are looked up once', async () => {
    const waiting: AbortSignal[] = [];
    const lookups = startLookups((_, signal) => {
      waiting.push(signal);
      return new Promise(() => undefined);
    });
    const { lookUp, begun, end } = lookups;
    const places = Math.ceil(LOOKUPS_MAX / 2);
    for (let index = 0; index < places; index += 1) void lookUp(`other-${index}`, `${index}.test`);
    const addresses = lookUp('a', 'x.test');
    await settled();
    expect([begun.length, waiting.map(({ aborted }) => aborted)]).toEqual([places, [false]]);
    await end('0.test');
    expect([begun.slice(places), waiting.map(({ aborted }) => aborted)]).toEqual([['x.test'], [true]]);
    await end('x.test');
    expect(await addresses).toEqual(ADDRESSES);
  });

  test('are looked up once if it is their turn in both lines at the same time', async () => {
    const answers: ((responds: boolean) => void)[] = [];
    const { lookUp, begun, end } = startLookups(() => new Promise((resolve) => answers.push(resolve)));
    const places = Math.ceil(LOOKUPS_MAX / 2);
    for (let index = 0; index < places; index += 1) void lookUp(`other-${index}`, `${index}.test`);
    const addresses = lookUp('a', 'x.test');
    await settled();
    answers[0]?.(true);
    await end('0.test');
    expect(begun.slice(places)).toEqual(['x.test']);
    await end('x.test');
    expect(await addresses).toEqual(ADDRESSES);
  });

  test.each([
    ['whose name server takes 1.5 s', { count: 6, lookupMs: 1_500, probeMs: 1_500, responds: true }],
    ['that only /etc/hosts has', { count: 4, lookupMs: 1, probeMs: 3_000, responds: false }],
    ['of which there are many', { count: 40, lookupMs: 20, probeMs: 20, responds: true }],
  ])('%s are looked up as soon as with one line', async (_, { count, lookupMs, probeMs, responds }) => {
    const share = Math.ceil(LOOKUPS_MAX / 2);
    const oneLineMs = Math.ceil(count / share) * lookupMs;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const after = <T>(ms: number, value: T) => new Promise<T>((resolve) => setTimeout(() => resolve(value), ms));
      const lookups = new FairLookups(
        () => after(lookupMs, ADDRESSES),
        () => after(probeMs, responds),
      );
      const { signal } = new AbortController();
      const done = Array.from({ length: count }, (__, index) =>
        lookups.lookUp(`${index}.test`, { namespace: 'a', signal }).then(() => performance.now()),
      );
      const startedMs = performance.now();
      await vi.advanceTimersByTimeAsync(10_000);
      expect(Math.max(...(await Promise.all(done))) - startedMs).toBeLessThanOrEqual(
        oneLineMs + (responds ? probeMs : lookupMs),
      );
    } finally {
      vi.useRealTimers();
    }
  });

  test('are not probed while there is room', async () => {
    probes.length = 0;
    const { lookUp, begun } = startLookups(probe);
    void lookUp('a', 'x.test');
    await settled();
    expect([begun, probes]).toEqual([['x.test'], []]);
  });

  test('are not trusted again for a while, if their name server responded only to the probe', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const { lookUp, begun, end } = await besieged();
      const before = begun.length;
      void lookUp('hostile', 'trick-1.test');
      await settled();
      await vi.advanceTimersByTimeAsync(4_500);
      await end('trick-1.test');
      void lookUp('hostile', 'trick-2.test');
      void lookUp('honest', 'honest.test');
      await settled();
      expect(begun.slice(before)).toEqual(['trick-1.test', 'honest.test']);
      await end('honest.test');
      await vi.advanceTimersByTimeAsync(600_000);
      void lookUp('hostile', 'trick-3.test');
      await settled();
      expect(begun.slice(before)).toContain('trick-3.test');
    } finally {
      vi.useRealTimers();
    }
  });
});

// Each lookup to a silent name server occupies a thread for up to a minute, long after the request has timed out.
test('names that one namespace cannot look up do not delay the requests of others', async () => {
  const upstream = await upstreamWith(rawResponse('ok'));
  let free = LOOKUPS_MAX;
  /** As libuv does, uses a limited number of threads, and only in order of arrival. */
  const lookup = async (hostname: string) => {
    free -= 1;
    if (hostname.startsWith('silent') || free < 0) return new Promise<never>(() => undefined);
    free += 1;
    return Promise.resolve(ADDRESSES);
  };
  const probe = (hostname: string) => Promise.resolve(!hostname.startsWith('silent'));
  const egress = egressWith({ lookup, probe, connectTimeoutMs: 300 });
  const silent = Array.from({ length: 20 }, (_, index) =>
    egress.request(get(0, { url: `http://silent-${index % 10}.test/`, namespace: 'a' })),
  );
  const failures = silent.map((request) => expect(request).rejects.toMatchObject({ code: 'upstream_timeout' }));
  const url = `http://orders.test:${upstream.port}/`;
  for (const namespace of ['b', 'c', undefined])
    expect((await egress.request(get(0, { url, ...(namespace !== undefined && { namespace }) }))).status).toBe(200);
  await Promise.all(failures);
  expect((await egress.request(get(0, { url, namespace: 'b' }))).status).toBe(200);
});
