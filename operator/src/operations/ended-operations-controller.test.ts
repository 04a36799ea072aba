import { LIMITS, type Kind, type ResourceObject } from '@standin/contract';
import { conditionsIn } from '@standin/crds';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import type { Controller } from '../controller.ts';
import { endedOperationsController } from './ended-operations-controller.ts';

const ENDED_AT = '2026-11-21T12:00:00Z';
const SPECS = {
  Replay: {
    projectRef: { name: 'shop' },
    requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe',
    target: { kind: 'Endpoint' },
  },
  KeyRegeneration: { accountRef: { name: 'team' } },
};
type OperationKind = keyof typeof SPECS;

const endedStatus = (type: string, reason: string, status = 'True') => ({
  observedGeneration: 1,
  conditions: [
    {
      type: 'Accepted',
      status: 'True',
      reason: 'Accepted',
      message: '',
      observedGeneration: 1,
      lastTransitionTime: ENDED_AT,
    },
    { type, status, reason, message: 'why', observedGeneration: 1, lastTransitionTime: ENDED_AT },
  ],
});
const SUCCEEDED = endedStatus('Complete', 'Succeeded');

let source: MemorySource;
let controller: Controller;
let now: number;
let metadata: Pick<ResourceObject['metadata'], 'labels' | 'annotations'>;

const begin = (): Controller => {
  const { objects, cache } = source;
  const logger = pino({ level: 'silent' });
  const started = endedOperationsController({ objects, cache, logger, registry: new Registry(), clock: () => now });
  started.start?.();
  return started;
};
const passDays = async (days: number): Promise<void> => {
  now = Date.parse(ENDED_AT) + days * LIMITS.operationTtlSecondsDefault * 1_000;
  await controller.stop?.();
  controller = begin();
};
const put = (kind: OperationKind, { spec = {}, status = SUCCEEDED }: { spec?: object; status?: object } = {}) =>
  source.put(kind, 'once', { ...SPECS[kind], ...spec }, status);
const summary = (kind: Kind): string[] =>
  conditionsIn(source.object(kind, 'once').status).map(({ type, status, reason }) => `${type}=${status} ${reason}`);

beforeEach(async () => {
  now = Date.parse(ENDED_AT);
  metadata = {};
  source = new MemorySource();
  controller = begin();
  await source.follow(
    () => controller,
    (seen) => ({ ...seen, metadata: { ...seen.metadata, ...metadata } }),
  );
});
afterEach(() => controller.stop?.());

describe.each(['Replay', 'KeyRegeneration'] as const)('a %s', (kind) => {
  it('is deleted a day after its end, and not before', async () => {
    put(kind);
    await passDays(0.99);
    await controller.stop?.();
    expect(source.has(kind, 'once')).toBe(true);
    await passDays(1);
    await expect.poll(() => source.has(kind, 'once')).toBe(false);
  });

  it.each([
    [0, 0],
    [60, 60 / LIMITS.operationTtlSecondsDefault],
    [2 * LIMITS.operationTtlSecondsDefault, 2],
  ])('with ttlSecondsAfterFinished %d is deleted after that', async (ttlSecondsAfterFinished, days) => {
    put(kind, { spec: { ttlSecondsAfterFinished } });
    if (days > 0) {
      await passDays(days * 0.99);
      await controller.stop?.();
      expect(source.has(kind, 'once')).toBe(true);
    }
    await passDays(days);
    await expect.poll(() => source.has(kind, 'once')).toBe(false);
  });

  it('that has not ended is not deleted', async () => {
    put(kind, { spec: { ttlSecondsAfterFinished: 0 }, status: endedStatus('Reconciling', 'Running') });
    await passDays(10);
    await controller.stop?.();
    expect(source.has(kind, 'once')).toBe(true);
    expect(source.statusWrites).toEqual([]);
  });

  it.each([
    { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:standin.dev/Replay:default/once' } },
    { annotations: { 'meta.helm.sh/release-name': 'shop' } },
    { labels: { 'app.kubernetes.io/instance': 'shop' } },
    { labels: { 'kustomize.toolkit.fluxcd.io/name': 'shop' } },
    { labels: { 'helm.toolkit.fluxcd.io/name': 'shop' } },
  ])('that is managed by %j is never deleted', async (tracking) => {
    metadata = tracking;
    put(kind, { spec: { ttlSecondsAfterFinished: 0 } });
    await passDays(100);
    await controller.stop?.();
    expect(source.has(kind, 'once')).toBe(true);
  });

  it('that another tool labels is deleted', async () => {
    metadata = { labels: { 'app.kubernetes.io/name': 'shop' }, annotations: { 'standin.dev/request': 'GET /' } };
    put(kind);
    await passDays(1);
    await expect.poll(() => source.has(kind, 'once')).toBe(false);
  });

  it('that was changed after its end is reported at its new generation', async () => {
    put(kind);
    source.put(kind, 'once', { ...SPECS[kind], ttlSecondsAfterFinished: 5 });
    await expect.poll(() => source.object(kind, 'once').status).toMatchObject({ observedGeneration: 2 });
    expect(summary(kind)).toEqual(['Accepted=True Accepted', 'Complete=True Succeeded']);
  });

  it('of the same name as its predecessor is not deleted with it', async () => {
    put(kind);
    // From here on, the listener does not receive changes, so the controller still knows the predecessor.
    source.isQuick = false;
    source.remove(kind, 'once');
    const { uid } = put(kind, { status: endedStatus('Reconciling', 'Running') }).metadata;
    let reads = 0;
    source.disturb = (call) => {
      if (call === 'get' || call === 'delete') reads += 1;
    };
    await passDays(1);
    await expect.poll(() => reads).toBe(1);
    await controller.stop?.();
    expect([reads, source.object(kind, 'once').metadata.uid]).toEqual([1, uid]);
  });
});
