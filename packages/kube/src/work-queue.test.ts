import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { recordingLogger } from '../testing/fake-api-server.ts';
import { until } from '../testing/until.ts';
import { WorkQueue, type WorkQueueOptions } from './work-queue.ts';

const testQueue = (reconcile: WorkQueueOptions<string>['reconcile'], options: Partial<WorkQueueOptions<string>> = {}) =>
  new WorkQueue<string>({ name: 'test', logger: recordingLogger(), reconcile, ...options });

/** Returns a reconciler whose runs end when the test decides. */
const gated = () => {
  const runs: { key: string; end: () => void }[] = [];
  const reconcile = (key: string) =>
    new Promise<undefined>((resolve) => {
      runs.push({ key, end: () => resolve(undefined) });
    });
  return { runs, reconcile };
};

describe('WorkQueue', () => {
  it('processes a waiting key once, regardless of how often it was added', async () => {
    const { runs, reconcile } = gated();
    const queue = testQueue(reconcile);
    queue.add('busy');
    for (let time = 0; time < 5; time++) queue.add('a');
    runs[0]?.end();
    await until('the second run', () => runs.length === 2);
    runs[1]?.end();
    await until('rest', () => queue.size === 0);
    expect(runs.map(({ key }) => key)).toEqual(['busy', 'a']);
    await queue.stop();
  });

  it('never processes a key concurrently, but processes it again if it was added during the run', async () => {
    const { runs, reconcile } = gated();
    const queue = testQueue(reconcile, { concurrency: 4 });
    queue.add('a');
    queue.add('a');
    queue.add('a');
    expect(runs).toHaveLength(1);
    runs[0]?.end();
    await until('the second run', () => runs.length === 2);
    runs[1]?.end();
    await until('rest', () => queue.size === 0);
    expect(runs).toHaveLength(2);
    await queue.stop();
  });

  it('processes as many keys concurrently as it has workers', async () => {
    const { runs, reconcile } = gated();
    const queue = testQueue(reconcile, { concurrency: 2 });
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect(runs.map(({ key }) => key)).toEqual(['a', 'b']);
    runs[0]?.end();
    await until('the third key', () => runs.length === 3);
    runs.forEach(({ end }) => end());
    await queue.stop();
  });

  it('leaves workers for other namespaces, which take turns', async () => {
    const { runs, reconcile } = gated();
    const about = (key: string) => ({ namespace: key.slice(0, 1) });
    const queue = testQueue(reconcile, { concurrency: 3, about });
    for (const key of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2']) queue.add(key);
    const begun = () => runs.map(({ key }) => key).join(' ');
    // Of three workers, one namespace gets two.
    expect(begun()).toBe('a1 a2 b1');
    // One is always left for a third namespace.
    runs[0]?.end();
    runs[1]?.end();
    await until('the next turns', () => runs.length === 4);
    queue.add('c1');
    expect(begun()).toBe('a1 a2 b1 a3 c1');
    for (let ended = 2; ended < runs.length; ended += 1) {
      runs[ended]?.end();
      await new Promise(setImmediate);
    }
    expect(begun()).toBe('a1 a2 b1 a3 c1 b2 a4 a5');
    runs.forEach(({ end }) => end());
    await until('rest', () => queue.size === 0);
    await queue.stop();
  });

  it('lets everything else have its turn between runs without I/O', async () => {
    const RUNS_MAX = 200;
    let runs = 0;
    const queue = testQueue(() => {
      runs += 1;
      const until = performance.now() + 5;
      while (performance.now() < until);
      if (runs < RUNS_MAX) queue.add('a');
      return Promise.resolve(undefined);
    });
    queue.add('a');
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(runs).toBeGreaterThan(1);
    expect(runs).toBeLessThan(RUNS_MAX);
    await queue.stop();
  });

  it('backs off per key, doubling the delay up to the maximum, and forgets failures after a success', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const times: number[] = [];
    const queue = testQueue(
      () => {
        times.push(performance.now());
        return [5, 7].includes(times.length) ? Promise.resolve(undefined) : Promise.reject(new Error('not yet'));
      },
      { backoff: { baseMs: 20, capMs: 80 } },
    );
    for (let attempts = 5; attempts <= 7; attempts += 2) {
      queue.add('a');
      await vi.advanceTimersByTimeAsync(1_000);
      expect(times).toHaveLength(attempts);
    }
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(pauses).toEqual([20, 40, 80, 80, expect.any(Number), 20]);
    await queue.stop();
  });

  it('logs a failure with the fields that describe the key', async () => {
    const logged: object[] = [];
    const logger = { ...recordingLogger(), warn: (fields: object) => void logged.push(fields) };
    const about = (key: string) => ({ namespace: 'team-a', name: key });
    const queue = testQueue(() => Promise.reject(new Error('refused')), { logger, about });
    queue.add('shop');
    await until('the failure', () => logged.length > 0);
    expect(logged[0]).toMatchObject({ controller: 'test', namespace: 'team-a', name: 'shop', failures: 1 });
    await queue.stop();
  });

  it('processes a change without waiting for a backoff', async () => {
    let runs = 0;
    const queue = testQueue(
      () => {
        runs += 1;
        return Promise.reject(new Error('always'));
      },
      { backoff: { baseMs: 60_000, capMs: 60_000 } },
    );
    queue.add('a');
    await until('the failure', () => runs === 1);
    await new Promise((resolve) => setTimeout(resolve, 0));
    queue.add('a');
    await until('the second run', () => runs === 2);
    await queue.stop();
  });

  it('requeues a key after the delay that a reconciliation requests', async () => {
    const times: number[] = [];
    const queue = testQueue(() => {
      times.push(performance.now());
      return Promise.resolve(times.length === 1 ? { requeueAfterMs: 50 } : undefined);
    });
    queue.add('a');
    await until('the second run', () => times.length === 2);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(45);
    await queue.stop();
  });

  it('keeps the shorter of two delays', async () => {
    const ran: string[] = [];
    const queue = testQueue((key) => {
      ran.push(key);
      return Promise.resolve(undefined);
    });
    queue.addAfter('a', 60_000);
    queue.addAfter('a', 20);
    queue.addAfter('a', 60_000);
    await until('the run', () => ran.length === 1);
    expect(queue.size).toBeLessThanOrEqual(1);
    await queue.stop();
  });

  it('stops after running reconciliations have ended and starts no new ones', async () => {
    const { runs, reconcile } = gated();
    const queue = testQueue(reconcile);
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 10);
    let stopped = false;
    const stopping = queue.stop().then(() => (stopped = true));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(stopped).toBe(false);
    runs[0]?.end();
    await stopping;
    queue.add('d');
    expect(runs.map(({ key }) => key)).toEqual(['a']);
    expect(queue.size).toBe(0);
  });

  it("exposes controller-runtime's metrics", async () => {
    const registry = new Registry();
    const queue = testQueue((key) => (key === 'bad' ? Promise.reject(new Error('no')) : Promise.resolve(undefined)), {
      registry,
      backoff: { baseMs: 60_000, capMs: 60_000 },
    });
    queue.add('good');
    queue.add('bad');
    await until('both', () => queue.size === 1);
    const metrics = await registry.metrics();
    for (const line of [
      'controller_runtime_reconcile_total{controller="test",result="success"} 1',
      'controller_runtime_reconcile_total{controller="test",result="error"} 1',
      'controller_runtime_reconcile_errors_total{controller="test"} 1',
      'controller_runtime_max_concurrent_reconciles{controller="test"} 1',
      'controller_runtime_active_workers{controller="test"} 0',
      'controller_runtime_reconcile_time_seconds_count{controller="test"} 2',
      'workqueue_adds_total{name="test",controller="test"} 2',
      'workqueue_depth{name="test",controller="test"} 0',
      'workqueue_retries_total{name="test",controller="test"} 1',
      'workqueue_queue_duration_seconds_count{name="test",controller="test"} 2',
      'workqueue_work_duration_seconds_count{name="test",controller="test"} 2',
      'workqueue_unfinished_work_seconds{name="test",controller="test"} 0',
      'workqueue_longest_running_processor_seconds{name="test",controller="test"} 0',
    ]) {
      expect(metrics).toContain(line);
    }
    await queue.stop();
    await expect(registry.metrics()).resolves.not.toContain('workqueue_depth{');
  });
});
