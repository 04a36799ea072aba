import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmbeddedEngine } from '@standin/engine';
import { parseFilter } from '@standin/exchange/search';
import { LOG_COLUMNS, openLogStore, type LogStore } from '@standin/logstore';
import { clickHouseQuery, type Query } from '../../harness/clickhouse-query.ts';

/**
 * Measures searches on a log of one project over ten days, 1.5 kB per row: `node test/bench/logstore/search.ts [ROWS]`. The rounds
 * search for different values, so that caches hardly help.
 */

const ROWS = Number(process.argv[2] ?? 1_000_000);
const INSERT_ROWS = 50_000;
const ROUNDS = 12;
const DAYS = 10;
const PROJECT = 'project-0';
/** The same limit as in the dashboard, which first shows an estimate if more rows must be read. */
const SEARCHED_ROWS_MAX = 500_000;

/** Inserts webhook-like traffic, which ClickHouse itself generates: JSON with random ids, a few event types and eight statuses. */
const insertRows = (query: Query, { table = 'log', from, count }: { table?: string; from: number; count: number }) =>
  query(`INSERT INTO ${table} (${LOG_COLUMNS.join(', ')})
    WITH number + ${from} AS n, rand(1) AS r, lower(hex(rand64(2))) AS event_id, lower(hex(rand64(3))) AS object_id,
      ['refund', 'capture', 'payout', 'charge', 'dispute', 'transfer', 'invoice', 'customer'][1 + rand(4) % 8] AS type,
      ['create-order', 'list-orders', 'hooks', 'health', 'refunds', 'login'][1 + rand(5) % 6] AS name,
      [200, 200, 200, 200, 200, 201, 204, 301, 404, 422, 500, 503][1 + rand(6) % 12] AS code,
      toUnixTimestamp64Micro(now64(6)) - (${ROWS} - n) * intDiv(${DAYS} * 86400000000, ${ROWS}) AS us,
      concat('/v1/', name, '/', toString(r % 5000)) AS slug
    SELECT generateUUIDv7(n), 2, fromUnixTimestamp64Micro(us, 'UTC'), now() + 30 * 86400, 'default', 'default', 'account', 'shop',
      '${PROJECT}', name, name, 1, concat('gateway-', toString(r % 3)), 'JSON', 'mocked', '10.0.0.1', '0123abcd',
      ['GET', 'POST', 'PUT', 'DELETE'][1 + rand(8) % 4], concat('/k3v9', slug), slug, concat('page=', toString(r % 100)), '1.1',
      [('host', 'mock.example.com'), ('user-agent', concat('client/', toString(r % 40))), ('content-type', 'application/json'),
       ('x-request-id', event_id), ('x-github-event', type), ('accept', '*/*')], [],
      concat('{"id":"evt_', event_id, '","created":', toString(1700000000 + n), ',"type":"', type, '.updated","data":{"object":{"id":"',
        object_id, '","amount":', toString(r % 100000), ',"customer":"cus_', substring(object_id, 1, 12), '","email":"user',
        toString(r % 200000), '@example.com","description":"Payment for order ', toString(rand(11) % 1000000),
        ' with express delivery","metadata":{"source":"checkout","note":"leave it at the door"}}},"livemode":false}'),
      code, [('content-type', 'application/json'), ('x-response-id', object_id), ('cache-control', 'no-store')], [],
      concat('{"status":"', if(code < 400, 'accepted', 'failed'), '","reference":"', object_id, '","message":"The ', type,
        ' was processed by worker ', toString(r % 64), '","items":[', arrayStringConcat(arrayMap(i ->
        concat('{"sku":"SKU-', toString((r + i) % 10000), '","qty":', toString((r + i) % 7), '}'), range(8)), ','), ']}'),
      600, 0, '', '', toUInt64(exp(5 + (rand(12) % 10000) / 1200.)), 300, 0, '', '', 0, '', 0, '', 'key', ''
    FROM numbers(${count})`);

const show = (what: string, values: readonly number[]): void => {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0).padStart(6);
  process.stdout.write(`${what.padEnd(64)} ${at(0.5)} ${at(0.95)}  ms p50, p95\n`);
};

const timed = async (task: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await task();
  return performance.now() - start;
};

const TYPES = ['refund', 'capture', 'payout', 'charge', 'dispute', 'transfer', 'invoice', 'customer'];

/** Typical searches. `id` is a value that occurs in one row only. */
const SEARCHES: readonly (readonly [string, (round: number, id: string) => string])[] = [
  ['nothing', () => ''],
  ['status:5xx', (round) => `status:${500 + (round % 4)}`],
  ['path:/v1/hooks/*', (round) => `path:/v1/hooks/${round}*`],
  ['status:>=500 dur:>100ms -endpoint:health', (round) => `status:>=500 dur:>${100 + round}ms -endpoint:health`],
  ['body:refund (an eighth of all rows)', (round) => `body:${TYPES[round % 8] ?? ''}.`],
  ['body:ID (one entry)', (_round, id) => `body:${id}`],
  ['header.x-request-id:ID (one entry)', (_round, id) => `header.x-request-id:${id}`],
  ['refund (free text, an eighth of all rows)', (round) => `"${TYPES[round % 8] ?? ''} was"`],
  ['ID (free text, one entry)', (_round, id) => id],
  ['a missing text (free text)', (round) => `never-sent-${round}`],
];

const bench = async (store: LogStore, ids: readonly string[]): Promise<void> => {
  const now = Date.now();
  const oneIn = Math.ceil(ROWS / SEARCHED_ROWS_MAX);
  const range = { from: new Date(now - DAYS * 86_400_000), to: new Date(now), buckets: 120 };
  for (const [name, searchText] of SEARCHES) {
    const lists: number[] = [];
    const histograms: number[] = [];
    const estimates: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const result = parseFilter(searchText(round, ids[round] ?? ''));
      if (result.kind === 'invalid') throw new Error(result.problem.message);
      const filter = { projectUid: PROJECT, search: result.filter };
      lists.push(await timed(() => store.summaries({ ...filter, limit: 100 })));
      histograms.push(await timed(() => store.histogram(filter, range).catch(() => undefined)));
      estimates.push(await timed(() => store.histogram(filter, { ...range, oneIn })));
    }
    show(`first 100: ${name}`, lists);
    show('  histogram of 10 days', histograms);
    if (oneIn > 1) show(`  … estimated from one block in ${oneIn}`, estimates);
  }
  const filter = { projectUid: PROJECT };
  for (const field of ['endpoint', 'path', 'header', 'header.x-github-event'] as const) {
    const times: number[] = [];
    for (let round = 0; round < 5; round++)
      times.push(await timed(() => store.distinct(field, filter, { prefix: '', limit: 20 })));
    show(`values of ${field}`, times);
  }
};

const INDEXES = ['request_body', 'response_body', 'head', 'request_header_values', 'response_header_values'];

/** Measures the cost of the indexes of migration 003. Inserts alternate between the table and a copy without indexes. */
const benchInserts = async (query: Query): Promise<void> => {
  await query('CREATE TABLE log_plain AS log');
  for (const name of INDEXES) await query(`ALTER TABLE log_plain DROP INDEX search_${name}`);
  const times: Record<string, number[]> = { log: [], log_plain: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [table, spent] of Object.entries(times)) {
      spent.push(await timed(() => insertRows(query, { table, from: ROWS, count: 10_000 })));
    }
  }
  show('insert of 10,000 rows generated by ClickHouse, with indexes', times['log'] ?? []);
  show('… without', times['log_plain'] ?? []);
};

const main = async (): Promise<void> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'standin-bench-'));
  const engine = await startEmbeddedEngine({ dataDir });
  const store = openLogStore({ ...engine, database: 'standin' });
  try {
    await store.migrate();
    const query = clickHouseQuery(engine);
    for (let from = 0; from < ROWS; from += INSERT_ROWS) {
      await insertRows(query, { from, count: Math.min(INSERT_ROWS, ROWS - from) });
    }
    const table = "active AND table = 'log' AND database = 'standin'";
    const size = await query(
      `SELECT formatReadableSize(sum(bytes_on_disk)), formatReadableSize(sum(secondary_indices_compressed_bytes)) FROM system.parts WHERE ${table}`,
    );
    process.stdout.write(`${ROWS} rows; on disk, including indexes: ${size.replace('\t', ', ')}\n`);
    const ids = await query(
      `SELECT request_headers[4].2 FROM log WHERE cityHash64(id) % ${Math.ceil(ROWS / 200)} = 0 LIMIT ${ROUNDS}`,
    );
    await bench(store, ids.split('\n'));
    await benchInserts(query);
  } finally {
    await store.close();
    await engine.stop();
    await rm(dataDir, { recursive: true });
  }
};

await main();
