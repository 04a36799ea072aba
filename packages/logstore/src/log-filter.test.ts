import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Filter } from '@standin/exchange/search';
import {
  assertLimit,
  filterConditions,
  EVERY_PROJECT,
  LIST_LIMIT_MAX,
  LogFilterError,
  summariesQuery,
  type LogFilter,
} from './log-filter.ts';

const after = { id: '01931f3e-7c3a-7bbb-8ccc-0123456789ab', receivedAt: '2026-11-21T07:35:12.123456Z' };

const projectUid = 'u';

describe('the project', () => {
  test('is selected by its uid or by an explicit request for all projects', () => {
    expect(filterConditions({ projectUid }).params).toEqual({ projectUid });
    expect(filterConditions({ projectUid: EVERY_PROJECT })).toMatchObject({
      frozen: ['expires_at > now()'],
      final: [],
      params: {},
    });
  });

  // Types do not prevent a uid from being missing after JSON, a spread or an optional chain.
  test.each([[{}], [{ projectUid: undefined }], [{ projectUid: null }], [{ projectUid: '' }], [{ projectUid: true }]])(
    'does not become all projects if the uid is missing: %j',
    (filter) => {
      const named = { namespace: 'a', project: 'b', ...filter, limit: 1 } as unknown as LogFilter;
      expect(() => summariesQuery(named)).toThrow(LogFilterError);
    },
  );
});

describe('summariesQuery', () => {
  test('no value becomes part of the SQL', () => {
    const value = fc.string({ minLength: 1 }).map((text) => `\u{1f511}${text}`);
    const filter = fc.record({ projectUid: value, namespace: value, project: value, endpoint: value });
    fc.assert(
      fc.property(filter, (values) => {
        const { sql, params } = summariesQuery({ ...values, limit: 10 });
        expect(sql).not.toContain('\u{1f511}');
        expect(params).toMatchObject(values);
      }),
    );
  });

  test('every parameter in the SQL has a value, and every value has a parameter', () => {
    const times = { sinceUs: 0, untilUs: 1, insertedSince: new Date(2) };
    const names = { projectUid: 'u', namespace: 'n', project: 'p', endpoint: 'e', method: 'GET' } as const;
    const search: Filter = { kind: 'contains', field: 'body', text: 'x' };
    const { sql, params } = summariesQuery({
      ...times,
      ...names,
      after,
      search,
      status: { min: 400, max: 599 },
      limit: 5,
    });
    const placeholders = [...sql.matchAll(/\{(\w+):/g)].map(([, name]) => name);
    expect(new Set(placeholders)).toEqual(new Set(Object.keys(params)));
  });

  test('expired entries are never selected', () => {
    expect(summariesQuery({ projectUid, limit: 1 }).sql).toContain('expires_at > now()');
  });

  test('a cursor keeps its microseconds and follows the order', () => {
    const newest = summariesQuery({ projectUid, limit: 1, after });
    const oldest = summariesQuery({ projectUid, limit: 1, after, order: 'oldest-first' });
    expect(newest.params).toMatchObject({
      afterUs: Date.parse('2026-11-21T07:35:12Z') * 1000 + 123_456,
      afterId: after.id,
    });
    expect(newest.sql).toMatch(/\(received_at, id\) < .*ORDER BY received_at DESC, id DESC/s);
    expect(oldest.sql).toMatch(/\(received_at, id\) > .*ORDER BY received_at ASC, id ASC/s);
  });

  test.each([
    ['an invalid id', { after: { ...after, id: 'x' } }],
    ['an invalid time', { after: { ...after, receivedAt: 'x' } }],
    ['a start that is not a time', { sinceUs: Number.NaN }],
    ['an end in fractions of a microsecond', { untilUs: 0.5 }],
  ])('rejects %s', (_what, filter) => {
    expect(() => summariesQuery({ projectUid, ...filter, limit: 1 })).toThrow(LogFilterError);
  });
});

test.each([0, -1, 1.5, Number.NaN, LIST_LIMIT_MAX + 1])('a limit of %d is rejected', (limit) => {
  expect(() => assertLimit(limit)).toThrow(LogFilterError);
});
