import type { ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeApiServer, clientFor, fail, json, recordingLogger, type SeenRequest } from '../testing/fake-api-server.ts';
import { until } from '../testing/until.ts';
import { systemClock } from './clock.ts';
import { LEADER_URL_ANNOTATION, firstEpoch, microTime, type Leader, type Lease } from './lease.ts';
import { LeaderElector, type LeaderElectorOptions, type Term } from './leader-elector.ts';

/** Times that are shorter than the defaults, but long enough for a busy machine. */
const FAST = { leaseDurationMs: 2_000, renewDeadlineMs: 1_200, retryPeriodMs: 100 };

/** A server with one Lease and compare-and-swap. */
class LeaseServer {
  lease: Lease | undefined;
  version = 0;
  writes = 0;

  readonly script = (request: SeenRequest, response: ServerResponse): void => {
    if (request.method === 'GET') {
      if (this.lease === undefined) fail(response, 404, 'NotFound');
      else json(response, 200, this.lease);
      return;
    }
    const sent = request.body as Lease;
    const isCreate = request.method === 'POST';
    if (isCreate !== (this.lease === undefined))
      fail(response, isCreate ? 409 : 404, isCreate ? 'AlreadyExists' : 'NotFound');
    else if (sent.metadata.resourceVersion !== this.lease?.metadata.resourceVersion) fail(response, 409, 'Conflict');
    else json(response, 200, this.store(sent));
  };

  store(lease: Lease): Lease {
    this.version += 1;
    this.writes += 1;
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.version) } };
    return this.lease;
  }
}

interface Candidate {
  readonly elector: LeaderElector;
  readonly terms: Term[];
  readonly leaders: Leader[];
  readonly stop: () => Promise<void>;
}

describe('LeaderElector', () => {
  let server: FakeApiServer;
  let leases: LeaseServer;
  let candidates: Candidate[];

  beforeEach(async () => {
    leases = new LeaseServer();
    server = new FakeApiServer(leases.script);
    await server.start();
    candidates = [];
  });
  afterEach(async () => {
    await Promise.all(candidates.map(({ stop }) => stop()));
    await server.stop();
  });

  const join = (
    identity: string,
    options: Partial<LeaderElectorOptions> = {},
    work: (term: Term) => Promise<void> = () => Promise.resolve(),
  ): Candidate => {
    const client = clientFor(server);
    const elector = new LeaderElector({
      client,
      namespace: 'standin-system',
      name: 'standin-operator',
      identity,
      url: `https://${identity}:8443`,
      logger: recordingLogger(),
      ...FAST,
      ...options,
    });
    const stop = new AbortController();
    const terms: Term[] = [];
    const leaders: Leader[] = [];
    const running = elector.run({
      onStartedLeading: (term) => {
        terms.push(term);
        return work(term);
      },
      onNewLeader: (leader) => leaders.push(leader),
      signal: stop.signal,
    });
    const candidate = {
      elector,
      terms,
      leaders,
      stop: async () => {
        stop.abort();
        await running;
        await client.close();
      },
    };
    candidates.push(candidate);
    return candidate;
  };

  const leading = ({ terms }: Candidate): boolean => terms.at(-1)?.signal.aborted === false;

  it('knows that a term is over as soon as a frozen process continues, before the signal aborts', async () => {
    let frozenMs = 0;
    const a = join('a', { clock: { ...systemClock, now: () => systemClock.now() + frozenMs } });
    await until('a leads', () => leading(a));
    const [term] = a.terms;
    expect(term?.remainingMs()).toBeGreaterThan(0);
    frozenMs = 60_000;
    expect(term?.remainingMs()).toBeLessThanOrEqual(0);
    expect(term?.signal.aborted).toBe(false);
  });

  it('creates the lease, holds it, and publishes its address', async () => {
    const registry = new Registry();
    const a = join('a', { registry });
    await until('a leads', () => leading(a));
    expect(leases.lease?.spec).toMatchObject({ holderIdentity: a.elector.identity, leaseDurationSeconds: 2 });
    expect(leases.lease?.metadata.annotations).toEqual({ [LEADER_URL_ANNOTATION]: 'https://a:8443' });
    expect(leases.lease?.spec.renewTime).toMatch(/\.\d{6}Z$/);
    expect(a.leaders).toEqual([{ identity: a.elector.identity, url: 'https://a:8443' }]);
    await expect(registry.metrics()).resolves.toContain('leader_election_master_status{name="standin-operator"} 1');
    const writes = leases.writes;
    await until('renewals', () => leases.writes >= writes + 3);
    expect(a.terms).toHaveLength(1);
    await a.stop();
    await expect(registry.metrics()).resolves.toContain('leader_election_master_status{name="standin-operator"} 0');
  });

  it('lets one process lead and gives the others its address', async () => {
    const a = join('a');
    await until('a leads', () => leading(a));
    const b = join('b');
    await until('b knows', () => b.leaders.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 1.5 * FAST.leaseDurationMs));
    expect(b.terms).toEqual([]);
    expect(b.elector.leader()).toEqual({ identity: a.elector.identity, url: 'https://a:8443' });
  });

  it('hands over immediately on stop, with a later epoch', async () => {
    const a = join('a');
    await until('a leads', () => leading(a));
    const b = join('b');
    await until('b knows', () => b.leaders.length === 1);
    const stoppedAt = performance.now();
    await a.stop();
    await until('b leads', () => leading(b));
    expect(performance.now() - stoppedAt).toBeLessThan(FAST.leaseDurationMs / 2);
    expect(b.terms[0]?.epoch).toBe((a.terms[0]?.epoch ?? 0) + 1);
    expect(a.terms[0]?.signal.aborted).toBe(true);
  });

  it('takes over from a killed leader when the lease has expired', async () => {
    leases.store({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'standin-operator', namespace: 'standin-system' },
      // A holder's clock that is decades ahead must not have any effect.
      spec: {
        holderIdentity: 'dead',
        leaseDurationSeconds: 1,
        leaseTransitions: 41,
        renewTime: '2099-01-01T00:00:00.000000Z',
      },
    });
    const startedAt = performance.now();
    const b = join('b');
    await until('b leads', () => leading(b));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1_000);
    expect(b.terms[0]?.epoch).toBe(42);
    expect(b.leaders.map(({ identity }) => identity)).toEqual(['dead', b.elector.identity]);
  });

  it('takes a lease without a holder, even if it has not expired', async () => {
    leases.store({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'standin-operator', namespace: 'standin-system' },
      spec: { holderIdentity: '', leaseDurationSeconds: 3_600, leaseTransitions: 7 },
    });
    const a = join('a');
    await until('a leads', () => leading(a));
    expect(a.terms[0]?.epoch).toBe(8);
  });

  it('stops leading before the lease expires if it cannot renew it', async () => {
    const a = join('a');
    await until('a leads', () => leading(a));
    const lastWrite = () => Date.parse(leases.lease?.spec.renewTime ?? '');
    // From here on, requests hang. Rejected requests would be easier to handle.
    server.script = () => undefined;
    await until('the end of the term', () => !leading(a));
    expect(Date.now() - lastWrite()).toBeLessThan(FAST.leaseDurationMs - 300);
    server.script = leases.script;
    await until('another term', () => a.terms.length === 2);
    expect(a.terms[1]?.epoch).toBe((a.terms[0]?.epoch ?? 0) + 1);
  });

  it('counts the deadline from the time when it sent the last renewal, not from the response', async () => {
    const a = join('a', { leaseDurationMs: 4_000, renewDeadlineMs: 2_400 });
    await until('a leads', () => leading(a));
    server.script = (request, response) => void setTimeout(() => leases.script(request, response), 1_000);
    const writes = leases.writes;
    await until('a slow renewal', () => leases.writes > writes);
    server.script = () => undefined;
    await until('the end of the term', () => !leading(a));
    expect(Date.now() - Date.parse(leases.lease?.spec.renewTime ?? '')).toBeLessThan(3_000);
    server.script = leases.script;
  });

  it('keeps leading through an outage that is shorter than the deadline', async () => {
    const a = join('a');
    await until('a leads', () => leading(a));
    await server.stop();
    await new Promise((resolve) => setTimeout(resolve, 300));
    await server.start();
    const writes = leases.writes;
    await until('renewals', () => leases.writes >= writes + 3);
    expect(a.terms).toHaveLength(1);
    expect(leading(a)).toBe(true);
  });

  it('stops leading when another process holds the lease', async () => {
    const a = join('a');
    await until('a leads', () => leading(a));
    const { lease } = leases;
    if (lease === undefined) throw new Error('no lease');
    leases.store({ ...lease, spec: { ...lease.spec, holderIdentity: 'thief' } });
    await until('the end of the term', () => !leading(a));
    expect(a.leaders.at(-1)?.identity).toBe('thief');
  });

  it('keeps leading in the same epoch if another client annotates or deletes the lease', async () => {
    const a = join('a');
    await until('a leads', () => leading(a));
    const { lease } = leases;
    if (lease === undefined) throw new Error('no lease');
    leases.store({ ...lease, metadata: { ...lease.metadata, annotations: { mine: 'too' } } });
    await until('both annotations', () => Object.keys(leases.lease?.metadata.annotations ?? {}).length === 2);
    leases.lease = undefined;
    await until('a new lease', () => leases.lease !== undefined);
    expect(leases.lease).toMatchObject({ spec: { leaseTransitions: a.terms[0]?.epoch } });
    expect(a.terms).toHaveLength(1);
    expect(leading(a)).toBe(true);
  });

  it('releases the lease when its work fails, then leads again', async () => {
    let runs = 0;
    const a = join('a', {}, () => {
      runs += 1;
      return runs === 1 ? Promise.reject(new Error('cannot serve')) : Promise.resolve();
    });
    await until('a second term', () => a.terms.length === 2);
    expect(a.terms[0]?.signal.aborted).toBe(true);
    expect(leading(a)).toBe(true);
  });

  it('releases the lease only after its work has ended', async () => {
    const ended = Promise.withResolvers<undefined>();
    const a = join('a', {}, async (term) => {
      await new Promise((resolve) => term.signal.addEventListener('abort', resolve));
      await ended.promise;
    });
    await until('a leads', () => leading(a));
    const stopping = a.stop();
    await until('the end of the term', () => !leading(a));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(leases.lease?.spec.holderIdentity).toBe(a.elector.identity);
    ended.resolve(undefined);
    await stopping;
    expect(leases.lease?.spec.holderIdentity).toBeUndefined();
    expect(leases.lease?.metadata.annotations).toEqual({});
  });

  it('lets exactly one of many candidates win a new lease', async () => {
    const many = ['a', 'b', 'c', 'd', 'e'].map((name) => join(name));
    await until('a leader', () => many.some(leading));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(many.filter(leading)).toHaveLength(1);
  });
});

describe('lease values', () => {
  it('have times with six decimal places', () => {
    expect(microTime(new Date(0))).toBe('1970-01-01T00:00:00.000000Z');
  });

  it('have later epochs after a lease is deleted', () => {
    const first = firstEpoch(new Date('2026-11-21T08:00:00Z'));
    expect(firstEpoch(new Date('2026-11-21T08:01:00Z'))).toBe(first + 60);
    expect(firstEpoch(new Date('2093-12-31T00:00:00Z'))).toBeLessThan(2 ** 31);
  });
});
