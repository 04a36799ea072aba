import { GROUP_VERSION, type Kind, type ResourceObject } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { ObjectCache } from '../object-cache.ts';
import { ACCEPTED, fails } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';
import { deletedBy } from './deleted-by.ts';
import { planExpectation } from './plan-expectation.ts';

const CREATED_AT = '2026-11-21T09:00:00Z';
const testObject = (kind: Kind, name: string, spec: object, more: Partial<ResourceObject> = {}): ResourceObject => ({
  apiVersion: GROUP_VERSION,
  kind,
  spec,
  status: undefined,
  metadata: {
    name,
    namespace: 'default',
    uid: `uid of ${name}`,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: CREATED_AT,
  },
  ...more,
});
const PROJECT = testObject('Project', 'shop', { accountRef: { name: 'team' } });
const micros = (time: string): number => Date.parse(time) * 1_000;

const planOne = (
  spec: object,
  {
    objects = [PROJECT],
    accepted = () => ACCEPTED,
  }: { objects?: ResourceObject[]; accepted?: () => Finding | undefined } = {},
  createdAt = CREATED_AT,
) => {
  const cache = new ObjectCache();
  for (const object of objects) cache.put(object);
  const whole = { projectRef: { name: 'shop' }, count: { max: 0 }, deadline: '2m', ...spec };
  const expectation = testObject('Expectation', 'x', whole);
  return planExpectation(
    { ...expectation, metadata: { ...expectation.metadata, creationTimestamp: createdAt } },
    cache,
    accepted,
  );
};

describe('planExpectation', () => {
  it('counts from the second of the creation until the deadline, counted from the end of this second', () => {
    const range = { fromUs: micros(CREATED_AT), untilUs: micros('2026-11-21T09:02:01Z') };
    expect(planOne({})).toMatchObject({
      kind: 'ready',
      range,
      expected: { min: 0, max: 0 },
      search: undefined,
      filter: { projectUid: 'uid of shop', namespace: 'default', project: 'shop', sinceUs: range.fromUs },
    });
    expect(planOne({}, {}, '2026-11-21T09:00:00.999Z')).toMatchObject({ range });
  });

  it('takes the beginning, the search and the numbers from the spec', () => {
    const plan = planOne({
      from: '2026-11-21T08:59:00.25Z',
      filter: { search: 'method:POST' },
      count: { min: 1 },
      deadline: '1s',
    });
    expect(plan).toMatchObject({
      range: { fromUs: micros('2026-11-21T08:59:00.25Z'), untilUs: micros('2026-11-21T09:00:02Z') },
      expected: { min: 1, max: Infinity },
      filter: { search: { kind: 'method' } },
    });
  });

  it.each([
    [{ deadline: '0s' }, /^spec\.deadline: must be between 1s and 12h/],
    [{ deadline: '8760h' }, /^spec\.deadline: must be between 1s and 12h/],
    [{ count: { min: 2, max: 1 } }, /^spec\.count\.max: must not be less than min/],
    [{ filter: { search: 'status:abc' } }, /^spec\.filter\.search: at character \d+: /],
    [{ filter: { search: 'method:POST (a' } }, /^spec\.filter\.search: at character 13: /],
    [{ from: '2026-11-21T10:00:00Z' }, /^spec\.from: must be before the deadline, which is 2026-11-21T09:02:01Z\.$/],
    [{ from: '2026-11-21T02:59:59Z' }, /^spec\.from: must be at most 6 hours before the creation/],
  ])('refuses %j', (spec, message) => {
    const plan = planOne(spec);
    expect(plan).toMatchObject({ kind: 'refused', finding: { ok: false, reason: 'Invalid' } });
    expect(plan.kind === 'refused' && plan.finding.message).toMatch(message);
  });

  it('waits for a Project that is missing, has not been checked, or is not valid', () => {
    const reason = (more: Parameters<typeof planOne>[1]) => {
      const plan = planOne({}, more);
      return plan.kind === 'waiting' ? plan.finding.reason : plan.kind;
    };
    expect(reason({ objects: [] })).toBe('ProjectNotFound');
    expect(reason({ accepted: () => undefined })).toBe('Pending');
    expect(reason({ accepted: () => fails('IdentityInvalid', 'no') })).toBe('ProjectNotReady');
  });
});

describe('deletedBy', () => {
  const range = { fromUs: micros('2026-11-21T09:00:00Z'), untilUs: micros('2026-11-21T09:02:00Z') };
  const purge = (status: object, filter: object) => testObject('Purge', 'erase', { filter }, { status });
  const found = { phase: 'Completed', matched: 0 };

  it.each([
    ['a Purge that overlaps', found, { to: '2026-11-21T09:00:01Z' }, true],
    [
      'a Purge that runs',
      { phase: 'Running', matched: 1 },
      { from: '2026-11-21T09:01:00Z', to: '2026-11-21T10:00:00Z' },
      true,
    ],
    ['a Purge that waits', { phase: 'Waiting' }, { to: '2026-11-21T09:00:01Z' }, false],
    [
      'a Purge that waits after it began to delete',
      { phase: 'Waiting', matched: 1 },
      { to: '2026-11-21T09:00:01Z' },
      true,
    ],
    ['a Purge that cannot count requests', { phase: 'Running' }, { to: '2026-11-21T09:00:01Z' }, false],
    ['a Purge before', found, { to: '2026-11-21T09:00:00Z' }, false],
    ['a Purge after', found, { from: '2026-11-21T09:02:00Z', to: '2026-11-21T10:00:00Z' }, false],
    ['a Purge that cannot be read', found, 'none', true],
  ])('with %s', (_name, status, filter, expected) => {
    expect(deletedBy([purge(status, filter as object)], range) !== undefined).toBe(expected);
  });
});
