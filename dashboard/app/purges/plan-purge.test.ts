import { SourceError } from '@standin/contract';
import { DEFINITIONS } from '@standin/crds';
import { LogStoreError } from '@standin/logstore';
import { expect, test } from 'vitest';
import { backendWith } from '../../src/api/api-server.testing.ts';
import type { ProjectLog, Resources } from '../../src/backend.ts';
import { planPurge } from './plan-purge.server.ts';
import type { PurgeValues } from './purge-values.ts';

const EMPTY: PurgeValues = { q: '', from: '', to: '', requests: '' };
const plan = (
  values: Partial<PurgeValues>,
  given: { check?: Resources['check']; count?: ProjectLog['count'] } = {},
) => {
  const { check = () => Promise.resolve([]), count = () => Promise.resolve(3) } = given;
  const project = { namespace: 'default', project: 'shop' };
  return planPurge(backendWith({ count }, { check }), project, { ...EMPTY, ...values });
};

test('a plan has the number of matching requests', async () => {
  const filters: unknown[] = [];
  const count: ProjectLog['count'] = (filter) => Promise.resolve(filters.push(filter));
  expect(await plan({ to: '2026-11-21T10:00:00.0000001Z' }, { count })).toEqual({
    kind: 'plan',
    matching: { kind: 'counted', count: 1 },
  });
  await plan({ q: 'ignored', requests: 'All' }, { count });
  expect(filters).toEqual([
    { search: { kind: 'everything' }, sinceUs: undefined, untilUs: Date.parse('2026-11-21T10:00:00Z') * 1_000 + 1 },
    { untilUs: undefined },
  ]);
});

test('a plan says why the number is unknown', async () => {
  const failure = new LogStoreError('secret', { kind: 'retryable', code: '159' });
  const forbidden = new SourceError('Forbidden', 'you may not read the log');
  for (const [error, message] of [
    [failure, 'The search took too long.'],
    [forbidden, 'Permission denied: you may not read the log'],
  ] as const)
    expect(await plan({ q: 'a' }, { count: () => Promise.reject(error) })).toMatchObject({
      kind: 'plan',
      matching: { kind: 'unknown', message: expect.stringContaining(message) as string },
    });
});

test('a missing permission is reported before anything is selected', async () => {
  const check = () => Promise.reject(new SourceError('Forbidden', 'cannot create resource "mockpurges"'));
  expect(await plan({}, { check })).toEqual({ kind: 'forbidden', message: 'cannot create resource "mockpurges"' });
  expect(await plan({})).toEqual({ kind: 'empty' });
});

test('the error of an invalid time names every form of time that the field accepts', async () => {
  const check: Resources['check'] = ({ spec }) => {
    const parsed = DEFINITIONS.Purge.spec.safeParse(spec);
    const issues = parsed.success ? [] : parsed.error.issues;
    return Promise.resolve(issues.map(({ path, message }) => ({ path: ['spec', ...path].join('.'), message })));
  };
  expect(await plan({ from: 'yesterday' }, { check })).toMatchObject({
    kind: 'invalid',
    errors: { fields: { from: ['Must be a time, such as 2026-11-21T09:00:00Z, or 2h for two hours ago'] } },
  });
});

test('errors are reported at their fields', async () => {
  const check: Resources['check'] = () => Promise.resolve([{ path: 'spec.filter.to', message: 'must be after from' }]);
  expect(await plan({ q: 'status:many', to: 'x' }, { check })).toMatchObject({
    kind: 'invalid',
    errors: { fields: { q: [expect.stringContaining('A status') as string], to: ['Must be after from'] }, form: [] },
  });
});
