import type { Condition } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { ACCEPTED } from '../translate/findings.ts';
import { operationConditions, endedOperation, type Progress } from './operation-conditions.ts';

const NOW = '2026-11-21T12:00:00Z';
const BEFORE = '2026-11-21T11:00:00Z';
const metadata = {
  name: 'operation',
  namespace: 'default',
  uid: 'uid',
  resourceVersion: '1',
  generation: 2,
  creationTimestamp: BEFORE,
};

const conditionTexts = (conditions: readonly Condition[] = []): string[] =>
  conditions.map(({ type, status, reason, lastTransitionTime }) => `${type}=${status} ${reason} ${lastTransitionTime}`);

describe('the conditions of an operation', () => {
  it.each<[Progress['type'], Progress['reason'], string[]]>([
    ['Reconciling', 'Running', ['Reconciling=True Running']],
    ['Complete', 'Succeeded', ['Complete=True Succeeded']],
    ['Failed', 'Failed', ['Failed=True Failed', 'Stalled=True Failed']],
    ['Failed', 'Cancelled', ['Failed=True Cancelled']],
  ])('that is %s with the reason %s', (type, reason, expected) => {
    const conditions = operationConditions(
      ACCEPTED,
      { type, reason, message: '' },
      { generation: 1, before: [], now: NOW },
    );
    expect(conditionTexts(conditions)).toEqual(['Accepted=True Accepted', ...expected].map((line) => `${line} ${NOW}`));
  });

  it('have the time of the first write, not that of the initial status', () => {
    const initial = { type: 'Reconciling', status: 'True', reason: 'Pending', message: '' } as const;
    const before = [{ ...initial, lastTransitionTime: '1970-01-01T00:00:00Z' } as Condition];
    const progress = { type: 'Reconciling', reason: 'Running', message: '' } as const;
    const [, first] = operationConditions(ACCEPTED, progress, { generation: 1, before, now: BEFORE });
    expect(first?.lastTransitionTime).toBe(BEFORE);
    const [, second] = operationConditions(ACCEPTED, progress, {
      generation: 1,
      before: first ? [first] : [],
      now: NOW,
    });
    expect(second?.lastTransitionTime).toBe(BEFORE);
  });
});

describe('the end of an operation', () => {
  const readEnd = (type: string, status: string, reason: string) => {
    const common = { message: 'why', observedGeneration: 1, lastTransitionTime: BEFORE };
    const conditions = [
      { ...common, type: 'Accepted', status: 'True', reason: 'Accepted' },
      { ...common, type, status, reason },
    ];
    return endedOperation({ metadata, status: { conditions } });
  };

  it.each([
    ['Complete', 'True', 'Succeeded', ['Complete=True Succeeded']],
    ['Met', 'True', 'Met', ['Met=True Met']],
    ['Failed', 'True', 'Cancelled', ['Failed=True Cancelled']],
  ])('is read from %s=%s %s', (type, status, reason, expected) => {
    const ended = readEnd(type, status, reason);
    expect(conditionTexts(ended?.conditions)).toEqual(
      ['Accepted=True Accepted', ...expected].map((line) => `${line} ${BEFORE}`),
    );
    expect(ended?.conditions.map(({ observedGeneration }) => observedGeneration)).toEqual(
      ended?.conditions.map(() => metadata.generation),
    );
    expect(ended?.endedAt).toBe(BEFORE);
  });

  it.each([
    ['Reconciling', 'True', 'Running'],
    ['Decided', 'True', 'Met'],
    ['Ready', 'True', 'Ready'],
    ['Complete', 'False', 'Running'],
  ])('is not read from %s=%s %s', (type, status, reason) => {
    expect(readEnd(type, status, reason)).toBeUndefined();
  });
});
