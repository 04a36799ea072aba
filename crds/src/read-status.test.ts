import { describe, expect, it } from 'vitest';
import { initialStatus } from './fields.ts';
import { conditionsIn, readStatus } from './read-status.ts';

const READY = {
  type: 'Ready',
  status: 'True',
  reason: 'Ready',
  message: 'It is live.',
  observedGeneration: 1,
  lastTransitionTime: '2026-11-21T10:00:00Z',
};

describe('the status of an object', () => {
  it('has the fields of its kind', () => {
    const status = { conditions: [READY], apiKey: { fingerprint: 'ab', regenerating: { name: 'one', uid: 'u' } } };
    expect(readStatus('Account', status)).toEqual(status);
  });

  // If unknown fields were rejected, one new field would hide the usage after a downgrade, and the shown usage for the month would
  // decrease.
  it('is read even if it has fields that this version does not know', () => {
    const status = { usage: { accepted: 7, newer: 1 }, conditions: [{ ...READY, newer: 1 }], newer: {} };
    expect(readStatus('Account', status)).toEqual({ usage: { accepted: 7 }, conditions: [READY] });
    expect(conditionsIn(status)).toEqual([READY]);
  });

  it.each([
    ['a field', { usage: { accepted: 'many', period: '2026-11' } }, { usage: { period: '2026-11' } }],
    ['an object', { usage: 7, apiKey: { fingerprint: 'ab' } }, { apiKey: { fingerprint: 'ab' } }],
    ['a required field of an object', { apiKey: { regenerating: { name: 1, uid: 'u' } } }, { apiKey: {} }],
    ['an item of a list', { apiKey: { regenerations: ['2026', 1] } }, { apiKey: {} }],
  ])('is read without %s if that is invalid', (_, status, expected) => {
    expect(readStatus('Account', status)).toEqual(expected);
  });

  it.each([[undefined], [null], ['text'], [[]]])('is empty if it is %j', (status) => {
    expect(readStatus('Replay', status)).toEqual({});
    expect(conditionsIn(status)).toEqual([]);
  });
});

describe('the conditions', () => {
  it('are empty before the operator has written any', () => {
    expect(conditionsIn(initialStatus(['Ready']))).toMatchObject([{ type: 'Ready', status: 'Unknown' }]);
  });

  it.each([['none'], [[{ type: 1 }]]])('are empty if they are %j', (conditions) => {
    expect(conditionsIn({ conditions, observedGeneration: 1 })).toEqual([]);
  });
});
