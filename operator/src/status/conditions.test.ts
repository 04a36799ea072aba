import type { Condition } from '@standin/contract';
import { expect, test } from 'vitest';
import type { ProgrammedState } from '../gateways/gateway-record.ts';
import type { Verdict } from '../translate/index.ts';
import { nextConditions, programmedFinding } from './conditions.ts';

const NOW = '2026-11-21T10:00:00Z';
const EARLIER = '2026-11-20T10:00:00Z';

const verdict = (change: Partial<Verdict> = {}): Verdict => ({
  ref: { kind: 'Endpoint', namespace: 'default', name: 'e' },
  uid: 'u',
  generation: 4,
  accepted: { ok: true, reason: 'Accepted', message: 'It is valid.' },
  resolvedRefs: { ok: true, reason: 'ResolvedRefs', message: 'All references exist.' },
  configKey: 'Endpoint/u',
  status: {},
  ...change,
});

const short = (conditions: readonly Condition[]): string[] =>
  conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);

test('a message with untrusted text is one printable line', () => {
  const accepted = { ok: false, reason: 'Invalid', message: 'there is no project "a\x1b[2J\nb\u202e"' } as const;
  const [condition] = nextConditions(verdict({ accepted }), programmedFinding(undefined), [], NOW);
  expect(condition?.message).toBe(String.raw`there is no project "a\x1b[2J\x0ab\u202e"`);
});

test('an object that is valid, resolved and acknowledged is Ready, at the generation that was checked', () => {
  const conditions = nextConditions(verdict(), programmedFinding({ kind: 'programmed' }), [], NOW);
  expect(short(conditions)).toEqual([
    'Accepted=True Accepted',
    'ResolvedRefs=True ResolvedRefs',
    'Programmed=True Programmed',
    'Ready=True Ready',
  ]);
  expect(new Set(conditions.map(({ observedGeneration }) => observedGeneration))).toEqual(new Set([4]));
});

test('Ready reports the first problem, and Stalled exists only for problems that do not resolve by themselves', () => {
  const invalid = { ok: false, reason: 'Invalid', message: 'spec.slug: must begin with /' } as const;
  const refused = nextConditions(
    verdict({ accepted: invalid, configKey: undefined }),
    programmedFinding(undefined),
    [],
    NOW,
  );
  expect(short(refused)).toEqual([
    'Accepted=False Invalid',
    'ResolvedRefs=True ResolvedRefs',
    'Programmed=False NotProgrammed',
    'Ready=False Invalid',
    'Stalled=True Invalid',
  ]);
  expect(refused[3]?.message).toBe('spec.slug: must begin with /');
  const partial = programmedFinding({ kind: 'waiting', gateways: ['gateway-2'], known: 3, unheard: false });
  const waiting = nextConditions(verdict(), partial, [], NOW);
  expect(short(waiting).slice(2)).toEqual(['Programmed=False PartiallyProgrammed', 'Ready=False PartiallyProgrammed']);
});

test('the transition time changes only with the status', () => {
  const before = nextConditions(verdict(), programmedFinding({ kind: 'programmed' }), [], EARLIER);
  const after = nextConditions(verdict({ generation: 5 }), programmedFinding({ kind: 'no-gateway' }), before, NOW);
  expect(after.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
    ['Accepted', EARLIER],
    ['ResolvedRefs', EARLIER],
    ['Programmed', NOW],
    ['Ready', NOW],
  ]);
});

test.each<[ProgrammedState, string]>([
  [
    { kind: 'waiting', gateways: ['a', 'b'], known: 2, unheard: false },
    'No gateway has acknowledged the object yet: waiting for a and b.',
  ],
  [
    { kind: 'waiting', gateways: ['a'], known: 2, unheard: false },
    'Some gateways have not acknowledged the object yet: waiting for a.',
  ],
  [
    { kind: 'waiting', gateways: ['a', 'b', 'c', 'd', 'e', 'f', 'g'], known: 9, unheard: false },
    'Some gateways have not acknowledged the object yet: waiting for a, b, c, d, e and 2 more.',
  ],
  [{ kind: 'rejected', gateway: 'a', message: 'bad header' }, 'a cannot use the object: bad header'],
])('the message for %o is %j', (state, message) => {
  expect(programmedFinding(state).message).toBe(message);
});

const standing = (status: 'True' | 'False', reason: 'Programmed' | 'Rejected' | 'PartiallyProgrammed') => {
  return {
    type: 'Programmed',
    status,
    reason,
    message: 'as it was',
    observedGeneration: 4,
    lastTransitionTime: EARLIER,
  } as const;
};

const LAGGING: ProgrammedState = { kind: 'waiting', gateways: ['a'], known: 2, unheard: false };
const UNHEARD: ProgrammedState = { ...LAGGING, unheard: true };

test.each([
  ['the previous leader’s gateways have not reconnected yet', UNHEARD, 'Programmed', true],
  ['no gateway is left', { kind: 'no-gateway' } as const, 'Programmed', true],
  ['a gateway from this term lags behind', LAGGING, 'PartiallyProgrammed', false],
  ['nothing is sent', undefined, 'NotProgrammed', false],
])('a programmed object has the correct condition when %s', (_when, state, reason, ok) => {
  expect(programmedFinding(state, standing('True', 'Programmed'))).toMatchObject({ ok, reason });
});

test('while gateways reconnect, an unprogrammed object stays unprogrammed, and a rejection remains', () => {
  expect(programmedFinding(UNHEARD, standing('False', 'PartiallyProgrammed'))).toMatchObject({ ok: false });
  expect(programmedFinding(UNHEARD, standing('False', 'Rejected'))).toMatchObject({
    reason: 'Rejected',
    message: 'as it was',
  });
  expect(programmedFinding({ kind: 'no-gateway' }, standing('False', 'Rejected'))).toMatchObject({
    reason: 'NoGateway',
  });
});
