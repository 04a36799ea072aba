import { GROUP_VERSION, type Kind, type ResourceObject } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { ObjectCache } from '../object-cache.ts';
import { ACCEPTED, fails } from '../translate/findings.ts';
import { planPurge } from './plan-purge.ts';

const CREATED_AT = '2026-11-21T09:00:00Z';
const testObject = (kind: Kind, name: string, spec: object, namespace = 'default'): ResourceObject => ({
  apiVersion: GROUP_VERSION,
  kind,
  spec,
  status: undefined,
  metadata: {
    name,
    namespace,
    uid: `uid of ${name}`,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: CREATED_AT,
  },
});
const PROJECT = testObject('Project', 'shop', { accountRef: { name: 'team' } });
const NOW = { filter: { to: CREATED_AT }, requests: 'All' };
const micros = (time: string): number => Date.parse(time) * 1_000;
const planOne = (spec: object, objects = [PROJECT], accepted = ACCEPTED) => {
  const cache = new ObjectCache();
  for (const object of objects) cache.put(object);
  const purge = testObject('Purge', 'x', { projectRef: { name: 'shop' }, reason: 'r', ...spec });
  return planPurge(purge, cache, () => accepted);
};

describe('planPurge', () => {
  it('selects what was received before filter.to', () => {
    expect(planOne(NOW)).toEqual({
      kind: 'ready',
      project: PROJECT,
      filter: {
        projectUid: 'uid of shop',
        namespace: 'default',
        project: 'shop',
        search: undefined,
        sinceUs: undefined,
        untilUs: micros(CREATED_AT),
      },
    });
  });

  it.each([
    ['2026-11-21T08:00:00Z', '2026-11-21T08:00:00Z'],
    // The user's clock is ahead. The creation time has a precision of seconds.
    ['2026-11-21T09:00:59Z', '2026-11-21T09:00:01Z'],
  ])('with filter.to %s selects what was received before %s', (to, before) => {
    const plan = planOne({ filter: { from: '2026-11-20T00:00:00Z', to, search: 'method:POST' } });
    expect(plan).toMatchObject({
      filter: { sinceUs: micros('2026-11-20T00:00:00Z'), untilUs: micros(before), search: { kind: 'method' } },
    });
  });

  it('selects the microsecond of a range of less than a microsecond', () => {
    const second = '2024-02-29T00:00:00';
    const plan = planOne({ filter: { from: `${second}.123456Z`, to: `${second}.123456001Z` } });
    const us = micros(`${second}Z`) + 123_456;
    expect(plan).toMatchObject({ filter: { sinceUs: us, untilUs: us + 1 } });
  });

  it.each([
    [{ filter: { to: CREATED_AT } }, /requires search or from in filter, or requests: All/],
    [{ filter: { search: 'status:', to: CREATED_AT } }, /^spec\.filter\.search: /],
    [{ filter: { search: ' ', to: CREATED_AT } }, /^spec\.filter\.search: selects all requests/],
    [
      { ...NOW, filter: { to: '2026-11-21T09:02:00Z' } },
      /^spec\.filter\.to: must not be later than the creation of the Purge\.$/,
    ],
  ])('refuses %j', (spec, message) => {
    const plan = planOne(spec);
    expect(plan).toMatchObject({ kind: 'refused', finding: { ok: false, reason: 'Invalid' } });
    expect(plan.kind === 'refused' && plan.finding.message).toMatch(message);
  });

  it('waits a day for a Project that is missing, is in another namespace, or is not valid', () => {
    const untilMs = Date.parse('2026-11-22T09:00:00Z');
    const elsewhere = testObject('Project', 'shop', {}, 'other');
    expect(planOne(NOW, [])).toMatchObject({ kind: 'waiting', finding: { reason: 'ProjectNotFound' }, untilMs });
    expect(planOne(NOW, [elsewhere])).toMatchObject({ kind: 'waiting', finding: { reason: 'ProjectNotFound' } });
    const broken = planOne(NOW, [PROJECT], fails('IdentityInvalid', 'no'));
    expect(broken).toMatchObject({ kind: 'waiting', finding: { reason: 'ProjectNotReady' } });
  });
});
