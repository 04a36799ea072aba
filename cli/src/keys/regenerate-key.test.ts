import type { KeyRegenerationStatus } from '@standin/crds';
import { describe, expect, it, test } from 'vitest';
import { formatRegenerationProgress, regenerationOutcome } from './regenerate-key.ts';

type Conditions = NonNullable<KeyRegenerationStatus['conditions']>;
const condition = (type: string, reason: string, message: string): Conditions[number] => {
  return { type, status: 'False', reason, message, lastTransitionTime: '2026-11-21T12:00:00Z' };
};

describe('the outcome of a regeneration', () => {
  test.each([
    ['LimitReached', 3, 'Failed'],
    ['ManagedElsewhere', 4, 'Failed'],
    ['Invalid', 1, 'Failed'],
    // Earlier versions wrote the condition Complete for a refusal, too.
    ['LimitReached', 3, 'Complete'],
  ])('is a refusal for %s, with exit code %d and a reason, from %s', (reason, exitCode, type) => {
    const conditions = [condition('Accepted', reason, 'why'), condition(type, 'Failed', 'why')];
    expect(regenerationOutcome({ phase: 'Refused', conditions })).toEqual({
      kind: 'refused',
      message: 'why',
      exitCode,
    });
  });

  test.each([{}, { phase: 'Pending' }, { phase: 'Running' }] as const)('is pending while it is %j', (status) => {
    expect(regenerationOutcome(status)).toEqual({ kind: 'under-way' });
  });

  it('is completed with a message', () => {
    const conditions = [condition('Complete', 'Succeeded', 'No gateway accepts the old key.')];
    expect(regenerationOutcome({ phase: 'Completed', conditions })).toEqual({
      kind: 'completed',
      message: 'No gateway accepts the old key.',
    });
  });
});

test.each<[KeyRegenerationStatus, string]>([
  [{}, 'Pending: the operator has not processed it yet'],
  [
    { phase: 'Running', conditions: [condition('Reconciling', 'Running', 'The new key is being written.')] },
    'The new key is being written.',
  ],
  [
    { phase: 'Running', acknowledged: '1/3', waitingFor: ['a', 'b'] },
    '1 of 3 gateways have the new key; waiting for a and b',
  ],
  [{ phase: 'Running', acknowledged: '3/3' }, '3 of 3 gateways have the new key'],
])('progress: %j', (status, text) => {
  expect(formatRegenerationProgress(status)).toBe(text);
});
