import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { LogRow } from '@standin/contract';
import { parseFilter, type Filter } from '@standin/exchange/search';
import { encodeRow, openLogStore, type LogStore, type PurgeFilter, type PurgeStep } from '@standin/logstore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addBodyTexts } from '../../gateway/src/deliver/add-body-texts.ts';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { clickHouseQuery, type Query } from '../harness/clickhouse-query.ts';

/**
 * Tests the deletion of requests from the real ClickHouse engine and, in the Vitest project `clickhouse-cluster`, from a cluster of
 * two replicas.
 */

let clickHouse: TestClickHouse;
let query: Query;
let store: LogStore;

beforeAll(async () => {
  clickHouse = await startClickHouse();
  query = clickHouseQuery(clickHouse);
  store = openLogStore(clickHouse);
  await store.migrate();
});

afterAll(async () => {
  await store.close();
  await clickHouse.stop();
});

const NOW_MS = Date.now();
const DAY_MS = 86_400_000;

let projects = 0;
/** Returns functions that create filters and rows for a new project, because each test has its own project. */
const newProject = () => {
  const projectUid = `project-${projects++}`;
  const own = { projectUid, namespace: 'default', project: 'shop', accountUid: projectUid };
  return {
    own,
    filter: (more: Partial<PurgeFilter> = {}): PurgeFilter => ({
      projectUid,
      namespace: own.namespace,
      project: own.project,
      untilUs: (NOW_MS + DAY_MS) * 1_000,
      ...more,
    }),
    row: (more: Partial<LogRow> = {}): LogRow => newLogRow({ ...own, receivedAtUs: NOW_MS * 1_000, ...more }),
  };
};

const search = (text: string): Filter => {
  const parsed = parseFilter(text);
  if (parsed.kind === 'invalid') throw new Error(parsed.problem.message);
  return parsed.filter;
};

const insert = (rows: readonly LogRow[]): Promise<void> =>
  store.insert({ rows: Buffer.concat(rows.map(encodeRow)), rowCount: rows.length, token: randomUUID() });

const untilDone = async (step: () => Promise<PurgeStep>): Promise<PurgeStep[]> => {
  const steps: PurgeStep[] = [];
  while (steps.at(-1) !== 'done') {
    steps.push(await step());
    if (steps.length > 600) throw new Error('the deletion did not end');
    await delay(50);
  }
  return steps;
};
const purge = (filter: PurgeFilter): Promise<PurgeStep[]> => untilDone(() => store.purges.requests(filter));

/** Returns the distinct ids of all rows of a project in this table, including old versions and expired rows. */
const idsIn = async (table: 'log' | 'replay_results', projectUid: string): Promise<string[]> => {
  const column = table === 'log' ? 'id' : 'request_id';
  const ids = await query(`SELECT DISTINCT toString(${column}) FROM ${table} WHERE project_uid = '${projectUid}'`);
  return ids.split('\n').filter((id) => id !== '');
};

test('deletes the matching requests of all days, including expired ones and copies, and no others', async () => {
  const { own, filter, row } = newProject();
  const jane = { requestBody: Buffer.from('{"to":"jane@example.com"}') };
  const gone = [
    row(jane),
    row({ ...jane, receivedAtUs: (NOW_MS - 3 * DAY_MS) * 1_000 }),
    row({ ...jane, expiresAtS: Math.floor(NOW_MS / 1_000) - 60 }),
    // The only row of its day.
    row({ ...jane, receivedAtUs: (NOW_MS - 5 * DAY_MS) * 1_000, expiresAtS: Math.floor(NOW_MS / 1_000) - 60 }),
  ];
  const kept = [row(), row({ ...jane, receivedAtUs: (NOW_MS + 2 * DAY_MS) * 1_000 })];
  const foreign = [
    row({ ...jane, namespace: 'other' }),
    row({ ...jane, project: 'renamed' }),
    row({ ...jane, projectUid: `${own.projectUid}-other` }),
  ];
  // ClickHouse itself would soon delete the day that has only an expired row.
  const table = clickHouse.cluster === undefined ? 'log' : 'log_local';
  await query(`ALTER TABLE ${table} MODIFY SETTING max_number_of_merges_with_ttl_in_pool = 0`);
  await insert([...gone, ...kept, ...foreign]);
  await insert(gone);
  const wanted = filter({ search: search('body:"jane@example.com"') });
  expect(await store.purges.count(wanted)).toBe(gone.length);
  const steps = await purge(wanted);
  expect([steps[0], steps.at(-1)]).toEqual(['running', 'done']);
  expect(await store.purges.count(wanted)).toBe(0);
  const left = [...(await idsIn('log', own.projectUid)), ...(await idsIn('log', `${own.projectUid}-other`))];
  expect(new Set(left)).toEqual(new Set([...kept, ...foreign].map(({ id }) => id)));
  expect(await purge(wanted)).toEqual(['done']);
});

test('deletes only the requests of a time range, or all of them', async () => {
  const { own, filter, row } = newProject();
  const rows = [0, 1, 2].map((hours) => row({ receivedAtUs: (NOW_MS - hours * 3_600_000) * 1_000 }));
  await insert(rows);
  await purge(filter({ sinceUs: (NOW_MS - 3_600_000) * 1_000, untilUs: NOW_MS * 1_000 }));
  expect(new Set(await idsIn('log', own.projectUid))).toEqual(new Set([rows[0]?.id, rows[2]?.id]));
  await purge(filter());
  expect(await idsIn('log', own.projectUid)).toEqual([]);
});

test('deletes both versions of a request if the response matches, and no request whose response does not', async () => {
  const { own, filter, row } = newProject();
  const versions = (status: number): [LogRow, LogRow] => {
    const first = row({ version: 1, status: 0, outcome: 'response_unknown' });
    return [first, { ...first, version: 2, status, outcome: 'forwarded' }];
  };
  const failed = versions(500);
  const succeeded = versions(200);
  // Each version stays in its own part, as when a gateway delivers the versions and ClickHouse has not merged them yet.
  const table = clickHouse.cluster === undefined ? 'log' : 'log_local';
  await query(`ALTER TABLE ${table} MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1`);
  for (const version of [...failed, ...succeeded]) await insert([version]);
  await purge(filter({ search: search('status:none') }));
  expect(await idsIn('log', own.projectUid)).toHaveLength(2);
  await purge(filter({ search: search('status:500') }));
  expect(await idsIn('log', own.projectUid)).toEqual([succeeded[0].id]);
  await query(`ALTER TABLE ${table} RESET SETTING max_bytes_to_merge_at_max_space_in_pool`);
});

test('deletes each version of a request if the text of its body was decoded for only one of them', async () => {
  const { own, filter, row } = newProject();
  const jane = row({ requestHeaders: [['content-encoding', 'gzip']], requestBody: gzipSync('jane@example.com') });
  const early = { ...jane, version: 0, status: 0, outcome: 'in_progress' } as const;
  const other = row({ version: 0, status: 0, outcome: 'in_progress' });
  const encoded = encodeRow(jane);
  const texts = addBodyTexts({ rows: encoded, ends: [encoded.length], withText: [0] });
  const table = clickHouse.cluster === undefined ? 'log' : 'log_local';
  await query(`ALTER TABLE ${table} MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1`);
  await insert([early, other]);
  await store.insert({ rows: Buffer.from(texts), rowCount: 1, token: randomUUID(), hasTexts: true });
  const wanted = filter({ search: search('body:"jane@example.com"') });
  expect(await store.purges.count(wanted)).toBe(1);
  await purge(wanted);
  expect(await idsIn('log', own.projectUid)).toEqual([other.id]);
  await query(`ALTER TABLE ${table} RESET SETTING max_bytes_to_merge_at_max_space_in_pool`);
});

test('deletes more requests than fit into one statement', async () => {
  const { own, filter, row } = newProject();
  const COUNT = 12_000;
  await insert([...Array.from({ length: COUNT }, () => row({ status: 500 })), row({ status: 200 })]);
  const wanted = filter({ search: search('status:500') });
  expect(await store.purges.count(wanted)).toBe(COUNT);
  await purge(wanted);
  expect(await idsIn('log', own.projectUid)).toHaveLength(1);
});

test('keeps the permits of deleted requests, each once', async () => {
  const { own, filter, row } = newProject();
  const permitted = (quotaPermit: number, status = 200): LogRow =>
    row({ quotaPeriod: '2026-11', quotaBlock: 'block', quotaPermit, status });
  await insert([permitted(0), permitted(1, 500), permitted(2), row({ quotaBlock: '' })]);
  const count = async () => [
    ...(await store.permits({ accountUid: own.accountUid, blocks: ['block', 'other'], since: new Date(0) })),
  ];
  await purge(filter({ search: search('status:500') }));
  expect(await count()).toEqual([['block', 3]]);
  // Another request uses a permit of the same block, and its permit is kept in addition.
  const another = permitted(3);
  await insert([another]);
  await purge(filter());
  expect(await count()).toEqual([['block', 4]]);
  // A gateway delivers the same request again, and it is deleted again.
  await insert([another]);
  expect(await count()).toEqual([['block', 4]]);
  await purge(filter());
  expect(await count()).toEqual([['block', 4]]);
  expect(await idsIn('log', own.projectUid)).toEqual([]);
});

test('deletes the results of replays of deleted requests, and no others', async () => {
  const { own, filter, row } = newProject();
  const [gone, kept, expired, earlier] = [row(), row(), row(), row()];
  await insert([gone, kept]);
  const replayResult = ({ id, receivedAtUs }: LogRow, changes: { namespace?: string; receivedAtUs?: number } = {}) => ({
    projectUid: own.projectUid,
    replayUid: 'replay',
    requestId: id,
    namespace: 'default',
    project: own.project,
    replay: 'again',
    requestReceivedAtUs: receivedAtUs,
    sentAtUs: NOW_MS * 1_000,
    expiresAtS: NOW_MS / 1_000 + 3_600,
    target: 'Upstream' as const,
    url: 'https://api.example.com',
    method: 'POST' as const,
    sentHeaders: [],
    sentBody: new Uint8Array(),
    edited: false,
    status: 200,
    responseHeaders: [],
    responseBody: new Uint8Array(),
    responseBodyBytes: 0,
    responseTruncated: false,
    error: '',
    durationUs: 1,
    firstByteUs: 1,
    ...changes,
  });
  const rounded = (result: ReturnType<typeof replayResult>) => ({
    ...result,
    expiresAtS: Math.floor(result.expiresAtS),
  });
  await store.replays.insert(
    [
      ...[gone, kept, expired].map((request) => replayResult(request)),
      replayResult(row(), { namespace: 'other' }),
      { ...replayResult(earlier), requestReceivedAtUs: (NOW_MS - DAY_MS) * 1_000 },
    ].map(rounded),
    () => Infinity,
  );
  const wanted = filter({ search: search(`id:${gone.id}`), sinceUs: (NOW_MS - 3_600_000) * 1_000 });
  await purge(wanted);
  expect(await idsIn('replay_results', own.projectUid)).toHaveLength(5);
  await untilDone(() => store.purges.results(wanted));
  const left = await idsIn('replay_results', own.projectUid);
  expect(left).toHaveLength(3);
  expect(left).toEqual(expect.arrayContaining([kept.id, earlier.id]));
});

test('reports a deletion that ClickHouse cannot finish, and begins no other', async () => {
  const database = 'failing';
  const failing = openLogStore({ ...clickHouse, database });
  await failing.migrate();
  const { filter, row } = newProject();
  const rows = [row(), row()];
  await failing.insert({ rows: Buffer.concat(rows.map(encodeRow)), rowCount: 2, token: 'failing' });
  const local = clickHouse.cluster === undefined ? 'log' : 'log_local';
  await query(`ALTER TABLE ${database}.${local} DELETE WHERE throwIf(method != '') SETTINGS mutations_sync = 0`);
  await expect.poll(() => failing.purges.requests(filter()), { timeout: 20_000 }).toBe('failing');
  expect(await failing.purges.count(filter())).toBe(2);
  const mutations = await query(
    `SELECT count() FROM system.mutations WHERE database = '${database}' AND table = '${local}'`,
  );
  expect(mutations).toBe('1');
  await failing.close();
});
