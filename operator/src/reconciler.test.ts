import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemorySource } from './memory-source.testing.ts';
import { isSpecChanged, reconciler, type Reconciler, type ReconcilerOptions } from './reconciler.ts';

let source: MemorySource;
let controller: Reconciler;
/** The reconciled Shares, with their specs. */
let calls: string[];
let phase: string;

const prepare = (options: Partial<ReconcilerOptions> = {}): void => {
  const { objects, cache } = source;
  controller = reconciler(
    { objects, cache, logger: pino({ level: 'silent' }), registry: new Registry() },
    {
      name: 'shares',
      stage: 'share',
      kinds: ['Share'],
      backoff: { baseMs: 1, capMs: 1 },
      reconcile: async (share, { writeStatus }) => {
        calls.push(`${share.metadata.name} ${JSON.stringify(share.spec)}`);
        await writeStatus({ phase });
        return undefined;
      },
      ...options,
    },
  );
};
const begin = (options?: Partial<ReconcilerOptions>): void => {
  prepare(options);
  controller.start?.();
};
/** Reports all changes, also those that the reconciliations cause. Returns the reconciled Shares. */
const settled = async (): Promise<string[]> => {
  for (let round = 0; round < 4; round += 1) {
    source.deliver();
    await delay(5);
  }
  return calls.splice(0);
};

beforeEach(async () => {
  source = new MemorySource();
  // The API server reports a write after it has responded to it.
  source.isQuick = false;
  calls = [];
  phase = 'One';
  await source.follow(() => controller);
});
afterEach(() => controller.stop?.());

describe('a reconciler', () => {
  it('reconciles each object of its kinds at the start, and when it is reported', async () => {
    begin();
    source.put('Share', 'a', { n: 1 });
    source.put('Project', 'p', {});
    expect(await settled()).toEqual(['a {"n":1}']);
    await controller.stop?.();
    begin();
    expect(await settled()).toEqual(['a {"n":1}']);
    source.put('Share', 'a', { n: 2 });
    expect(await settled()).toEqual(['a {"n":2}']);
  });

  it('does not reconcile an object because of its own status write', async () => {
    begin();
    source.put('Share', 'a', {});
    expect(await settled()).toEqual(['a {}']);
    expect(source.object('Share', 'a').status).toEqual({ phase: 'One' });
    source.put('Share', 'a', {}, { phase: 'Other' });
    expect(await settled()).toEqual(['a {}']);
    expect(source.object('Share', 'a').status).toEqual({ phase: 'One' });
  });

  it('reconciles the newest known version while the source lags behind', async () => {
    const versions: string[] = [];
    begin({
      watch: { Project: () => source.cache.ofKind('Share') },
      reconcile: async (share, { writeStatus }) => {
        versions.push(share.metadata.resourceVersion);
        await writeStatus({ phase });
        return undefined;
      },
    });
    const { resourceVersion } = source.put('Share', 'a', {}).metadata;
    source.deliver();
    await delay(5);
    const written = source.object('Share', 'a').metadata.resourceVersion;
    expect(written).not.toBe(resourceVersion);
    controller.changed?.(source.put('Project', 'p', {}));
    await delay(5);
    expect(versions).toEqual([resourceVersion, written]);
  });

  it('reconciles only when a report requires it', async () => {
    begin({ when: ({ object, isEcho }) => object.metadata.generation > 1 && !isEcho });
    source.put('Share', 'a', {});
    expect(await settled()).toEqual([]);
    source.put('Share', 'a', {});
    expect(await settled()).toEqual(['a {}']);
  });

  it('reconciles the objects that a change of another object concerns', async () => {
    begin({ watch: { Project: (change) => (isSpecChanged(change) ? source.cache.ofKind('Share') : []) } });
    source.put('Share', 'a', {});
    await settled();
    source.put('Project', 'p', {});
    expect(await settled()).toEqual(['a {}']);
    await source.objects.writeStatus({ kind: 'Project', namespace: 'default', name: 'p' }, { ready: true });
    expect(await settled()).toEqual([]);
    source.put('Project', 'p', {});
    expect(await settled()).toEqual(['a {}']);
    source.remove('Project', 'p');
    expect(await settled()).toEqual(['a {}']);
  });

  it('knows whether a report or something else required the reconciliation', async () => {
    const reports: boolean[] = [];
    begin({
      reconcile: (_share, { isReported }) => {
        reports.push(isReported);
        return Promise.resolve(undefined);
      },
    });
    const { uid } = source.put('Share', 'a', {}).metadata;
    await settled();
    controller.enqueue(uid);
    await settled();
    source.put('Share', 'a', {});
    await settled();
    expect(reports).toEqual([true, false, true]);
  });

  it('finalizes a removed object until this succeeds, unless the object is reported again', async () => {
    let failures = 1;
    begin({
      finalize: ({ metadata }) => {
        calls.push(`finalize ${metadata.name}`);
        if (failures-- > 0) throw new Error('the API server is unavailable');
        return Promise.resolve(undefined);
      },
    });
    const object = source.put('Share', 'a', {});
    await settled();
    source.remove('Share', 'a');
    expect(await settled()).toEqual(['finalize a', 'finalize a']);
    controller.enqueue(object.metadata.uid);
    expect(await settled()).toEqual([]);
    failures = Infinity;
    source.put('Share', 'b', {});
    await settled();
    const again = source.object('Share', 'b');
    source.remove('Share', 'b');
    await settled();
    controller.changed?.(again, source.cache.put(again));
    expect((await settled()).at(-1)).toBe('b {}');
    expect(await settled()).toEqual([]);
  });

  it('does nothing about a removal before the start of the term, and finalizes the object then', async () => {
    prepare({
      watch: { Project: () => source.cache.ofKind('Share') },
      finalize: ({ metadata }) => {
        calls.push(`finalize ${metadata.name}`);
        return Promise.resolve(undefined);
      },
    });
    const [share, project] = [source.put('Share', 'a', {}), source.put('Project', 'p', {})];
    for (const object of [share, project]) controller.removed?.(object);
    await delay(5);
    expect(calls).toEqual([]);
    controller.start?.();
    await delay(5);
    expect(calls).toEqual(['finalize a']);
  });

  it('reports the removal of an object, and does not reconcile it', async () => {
    const removed: string[] = [];
    begin({ removed: ({ metadata }) => removed.push(metadata.name) });
    source.put('Share', 'a', {});
    source.put('Project', 'p', {});
    await settled();
    source.remove('Share', 'a');
    source.remove('Project', 'p');
    expect([removed, await settled()]).toEqual([['a'], []]);
  });
});
