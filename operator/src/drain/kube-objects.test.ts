import { expect, test } from 'vitest';
import { hasReplica, claimOrdinal, type StatefulSet } from './kube-objects.ts';

const set = (spec: NonNullable<StatefulSet['spec']>, metadata: Partial<StatefulSet['metadata']> = {}): StatefulSet => ({
  metadata: { name: 'standin-gateway', ...metadata },
  spec,
});
const replicas = (one: StatefulSet): number[] => [0, 1, 2, 3, 4, 5].filter((ordinal) => hasReplica(one, ordinal));

test.each([
  ['without a replica count', {}, [0]],
  ['with three replicas', { replicas: 3 }, [0, 1, 2]],
  ['that is scaled to zero', { replicas: 0 }, []],
  ['whose ordinals begin later', { replicas: 2, ordinals: { start: 3 } }, [3, 4]],
])('the replicas of a StatefulSet %s', (_, spec, expected) => {
  expect(replicas(set(spec))).toEqual(expected);
});

test('a StatefulSet that is being deleted creates no pods', () => {
  expect(replicas(set({ replicas: 3 }, { deletionTimestamp: '2026-01-01T00:00:00Z' }))).toEqual([]);
});

test.each([
  ['data-standin-gateway-0', 0],
  ['data-standin-gateway-12', 12],
  ['data-standin-gateway-backup', undefined],
  ['data-standin-gateway-1-copy', undefined],
  ['data-standin-gateway-', undefined],
  ['data-other-gateway-1', undefined],
])('the claim %s belongs to the gateway with the ordinal %s', (claim, ordinal) => {
  expect(claimOrdinal(claim, 'standin-gateway')).toBe(ordinal);
});
