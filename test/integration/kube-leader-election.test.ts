import { fork, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { LeaderElector, type KubeClient, type Lease, type Term } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { OPERATOR_SERVICE_ACCOUNT, SYSTEM_NAMESPACE, installStandin } from '../harness/install-standin.ts';
import type { LeaderReport } from './kube-leader-process.ts';
import { logger } from './source-drivers.ts';

/**
 * Tests leader election with real timings (lease 8 s, deadline 5 s, retry 1 s), a real API server and the operator's permissions.
 */

const LEASE = 'election-test';

interface Candidate {
  readonly name: string;
  readonly elector: LeaderElector;
  readonly terms: Term[];
  readonly stop: () => Promise<void>;
}

const isLeading = ({ terms }: Candidate): boolean => terms.at(-1)?.signal.aborted === false;

describe('leader election', { timeout: 60_000 }, () => {
  let cluster: OwnCluster;
  let kubeconfigPath: string;
  let client: KubeClient;
  let candidates: Candidate[];
  let children: ChildProcess[];

  beforeAll(async () => {
    cluster = await startCluster();
    await installStandin(cluster);
    kubeconfigPath = await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, OPERATOR_SERVICE_ACCOUNT);
    client = loadKubeClient({ kubeconfigPath });
  });
  beforeEach(() => {
    candidates = [];
    children = [];
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(candidates.map(({ stop }) => stop()));
  });
  afterAll(async () => {
    await client.close();
    await cluster.stop();
  });

  const join = (name: string): Candidate => {
    const elector = new LeaderElector({
      client,
      namespace: SYSTEM_NAMESPACE,
      name: LEASE,
      identity: name,
      url: `https://${name}:8443`,
      logger,
    });
    const stop = new AbortController();
    const terms: Term[] = [];
    const onStartedLeading = (term: Term): Promise<void> => {
      terms.push(term);
      return Promise.resolve();
    };
    const running = elector.run({ onStartedLeading, signal: stop.signal });
    const candidate = {
      name,
      elector,
      terms,
      stop: async () => {
        stop.abort();
        await running;
      },
    };
    candidates.push(candidate);
    return candidate;
  };

  const awaitLeader = (among: readonly Candidate[], timeoutMs = 10_000): Promise<Candidate> =>
    eventually('one leader', () => among.filter(isLeading), { accept: ({ length }) => length === 1, timeoutMs }).then(
      ([leader]) => leader as Candidate,
    );

  const lease = (): Promise<Lease> =>
    client.get<Lease>(`/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases/${LEASE}`);

  /** Starts a candidate in its own process, which can be killed. Resolves when it leads. */
  const forkLeader = async (): Promise<LeaderReport & { readonly child: ChildProcess }> => {
    const child = fork(path.join(import.meta.dirname, 'kube-leader-process.ts'), [
      kubeconfigPath,
      SYSTEM_NAMESPACE,
      LEASE,
    ]);
    children.push(child);
    const report = await new Promise<LeaderReport>((resolve, reject) => {
      child.once('message', (message) => resolve(message as LeaderReport));
      child.once('exit', (code) => reject(new Error(`the candidate ended with ${code ?? 'a signal'}`)));
    });
    return { ...report, child };
  };

  it('elects one of three candidates, and another within two seconds of a graceful stop', async () => {
    const three = ['a', 'b', 'c'].map(join);
    const first = await awaitLeader(three);
    const held = await lease();
    expect(held.spec).toMatchObject({ holderIdentity: first.elector.identity, leaseDurationSeconds: 8 });
    const others = three.filter((candidate) => candidate !== first);
    await eventually('the others to know the leader', () =>
      others.every(({ elector }) => elector.leader()?.url === `https://${first.name}:8443`),
    );
    const stoppedAt = performance.now();
    await first.stop();
    const second = await awaitLeader(others);
    expect(performance.now() - stoppedAt).toBeLessThan(2_000);
    expect(second.terms[0]?.epoch).toBe((first.terms[0]?.epoch ?? 0) + 1);
  });

  it('elects another candidate within 15 seconds of a kill', async () => {
    const { child, identity, epoch } = await forkLeader();
    const followers = ['b', 'c'].map(join);
    await eventually('the followers to know the leader', () =>
      followers.every(({ elector }) => elector.leader()?.identity === identity),
    );
    const killedAt = performance.now();
    child.kill('SIGKILL');
    const next = await awaitLeader(followers, 20_000);
    const seconds = (performance.now() - killedAt) / 1_000;
    expect(seconds).toBeLessThan(15);
    // The lease of the dead leader must expire first. Part of its duration has passed since the last renewal.
    expect(seconds).toBeGreaterThan(6);
    expect(next.terms[0]?.epoch).toBe(epoch + 1);
  });

  it('elects one leader, and never two, after the API server restarts', async () => {
    const three = ['a', 'b', 'c'].map(join);
    const before = await awaitLeader(three);
    const leadingAtOnce: number[] = [];
    const watch = setInterval(() => leadingAtOnce.push(three.filter(isLeading).length), 20);
    try {
      await cluster.stopApiServer('SIGKILL');
      // The timeout exceeds the renew deadline, after which the leader must give up.
      await eventually('the end of the term', () => !isLeading(before), { timeoutMs: 8_000 });
      await cluster.startApiServer();
      const after = await awaitLeader(three, 20_000);
      expect(after.terms.at(-1)?.epoch).toBeGreaterThan(before.terms[0]?.epoch ?? 0);
    } finally {
      clearInterval(watch);
    }
    expect(Math.max(...leadingAtOnce)).toBe(1);
  });
});
