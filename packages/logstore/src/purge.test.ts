import { parseFilter, type Filter } from '@standin/exchange/search';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ClickHouse } from './clickhouse.ts';
import { countMatching, purgeRequests, type PurgeFilter } from './purge.ts';

/** Tests which statements run. test/integration/purged-requests.test.ts tests what ClickHouse does. */

const DAYS = ['2026-11-20', '2026-11-21'];

const int64 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(8 * values.length);
  for (const [index, value] of values.entries()) bytes.writeBigInt64LE(BigInt(value), 8 * index);
  return bytes;
};
const days = (texts: readonly string[]): Buffer => {
  const bytes = Buffer.alloc(2 * texts.length);
  for (const [index, text] of texts.entries()) bytes.writeUInt16LE(Date.parse(text) / 86_400_000, 2 * index);
  return bytes;
};

let statements: string[];
/** The number of matching requests by day. */
let matching: Record<string, number>;
/** The ids of earlier versions that do not match although a later version does. */
let earlier: Buffer;
let mutations: { running: number; failing: number };

const answerTo = (sql: string): Buffer => {
  if (sql.includes('system.mutations')) return int64(mutations.running, mutations.failing);
  if (sql.startsWith('SELECT DISTINCT toDate')) return days(Object.keys(matching));
  if (sql.startsWith('SELECT uniqExact')) return int64(matching[DAYS.find((day) => sql.includes(day)) ?? ''] ?? 0);
  if (sql.includes('version < 2')) return earlier;
  if (sql.startsWith('SELECT DISTINCT id')) return Buffer.alloc(16, 1);
  return Buffer.alloc(0);
};
const clickhouse = {
  run: (_, { sql }) => {
    statements.push(sql);
    return Promise.resolve(answerTo(sql));
  },
} as Partial<ClickHouse> as ClickHouse;
const place = { clickhouse, database: 'standin' };

const search = (text: string): Filter => {
  const parsed = parseFilter(text);
  if (parsed.kind === 'invalid') throw new Error(parsed.problem.message);
  return parsed.filter;
};
const filter = (more: Partial<PurgeFilter> = {}): PurgeFilter => ({
  projectUid: 'uid',
  namespace: 'default',
  project: 'shop',
  untilUs: Date.parse('2026-11-22') * 1_000,
  ...more,
});
const deletions = (): string[] => statements.filter((sql) => sql.startsWith('ALTER TABLE'));

beforeEach(() => {
  statements = [];
  matching = { '2026-11-20': 2, '2026-11-21': 3 };
  earlier = Buffer.alloc(0);
  mutations = { running: 0, failing: 0 };
});

describe('a purge', () => {
  it.each([undefined, search('body:jane'), search('status:500')])(
    'includes expired rows, with the search %j',
    async (own) => {
      expect(await countMatching(place, filter({ search: own }))).toBe(5);
      await purgeRequests(place, filter({ search: own }));
      expect(deletions()).toHaveLength(2);
      expect(statements.filter((sql) => sql.includes('expires_at'))).toEqual([]);
    },
  );

  it('deletes from the partitions of the days that have matching requests', async () => {
    matching['2026-11-20'] = 0;
    expect(await purgeRequests(place, filter())).toBe('running');
    expect(deletions()).toHaveLength(1);
    expect(deletions()[0]).toMatch(/^ALTER TABLE log DELETE IN PARTITION '2026-11-21' WHERE /);
  });

  it('selects only the requests of its project and its time range in every statement', async () => {
    earlier = Buffer.alloc(16, 1);
    await purgeRequests(place, filter({ sinceUs: Date.parse('2026-11-20') * 1_000, search: search('body:jane') }));
    const reading = statements.filter((sql) => !sql.includes('system.mutations'));
    expect(reading.length).toBeGreaterThan(6);
    for (const sql of reading) {
      for (const condition of ['project_uid =', 'namespace =', 'project =', 'received_at >=', 'received_at <'])
        expect(sql).toContain(condition);
    }
  });

  it('lists the ids if the search depends on the response, so that both versions of a request are deleted', async () => {
    await purgeRequests(place, filter({ search: search('status:500') }));
    for (const sql of deletions()) {
      expect(sql).toMatch(/project_uid = \{projectUid:String\} AND id IN \('01010101-/);
      expect(sql).not.toContain('status');
    }
  });

  it('also deletes earlier versions that do not have the text for which it searches', async () => {
    earlier = Buffer.alloc(16, 1);
    await purgeRequests(place, filter({ search: search('body:jane') }));
    const [first, second] = deletions();
    expect(first).toMatch(/ AND version < 2 AND id IN \('01010101-/);
    expect(second).toMatch(/ LIKE unhex\(\{search0:String\}\)\)$/);
  });

  it('records the permits before it deletes', async () => {
    await purgeRequests(place, filter());
    const kinds = statements.flatMap((sql) => /^(?:INSERT INTO purged_permits|ALTER TABLE)/.exec(sql)?.[0] ?? []);
    expect(kinds).toEqual(['INSERT INTO purged_permits', 'ALTER TABLE', 'INSERT INTO purged_permits', 'ALTER TABLE']);
  });

  it.each([
    ['running', { running: 1, failing: 0 }],
    ['failing', { running: 2, failing: 1 }],
  ] as const)('begins no deletion while another one is %s', async (step, counts) => {
    mutations = counts;
    expect(await purgeRequests(place, filter())).toBe(step);
    expect(statements).toHaveLength(1);
  });

  it('is done when no day has matching requests', async () => {
    matching = { '2026-11-20': 0 };
    expect(await purgeRequests(place, filter())).toBe('done');
    expect(deletions()).toEqual([]);
  });
});
