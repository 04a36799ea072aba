import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ClickHouse } from './clickhouse.ts';
import { insertReplayResults } from './insert-replay-results.ts';
import { LogStoreError } from './log-store-error.ts';
import type { ReplayResult } from './replay-results-table.ts';
import { serverClock } from './server-clock.ts';

const RESULT: ReplayResult = {
  projectUid: 'project',
  replayUid: 'again',
  requestId: '0190b5a0-0000-7000-8000-000000000000',
  requestReceivedAtUs: 1,
  sentAtUs: 1,
  expiresAtS: 1,
  namespace: 'default',
  project: 'shop',
  replay: 'again',
  target: 'Upstream',
  url: 'https://api.example.com/orders',
  method: 'POST',
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
};

test('after a refusal in time, the clock of ClickHouse is read again, because it may have changed', async () => {
  let aheadMs = 0;
  let reads = 0;
  const run = (_operation: string, { sql, body }: { sql: string; body?: Buffer }): Promise<Buffer> => {
    const nowMs = Date.now() + aheadMs;
    if (body === undefined) {
      reads += 1;
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(BigInt(nowMs));
      return Promise.resolve(bytes);
    }
    expect(sql).toContain('stored_before');
    // The last column.
    if (body.readUInt32LE(body.length - 4) * 1_000 >= nowMs) return Promise.resolve(Buffer.alloc(0));
    return Promise.reject(new LogStoreError('refused', { kind: 'permanent', code: '469' }));
  };
  const clickhouse = { run } as Partial<ClickHouse> as ClickHouse;
  const clock = serverClock(clickhouse);
  const insert = () => insertReplayResults({ clickhouse, clock }, [RESULT], () => 5_000);
  await insert();
  await insert();
  expect(reads).toBe(1);
  // For example, another replica responds.
  aheadMs = 30_000;
  await expect(insert()).rejects.toMatchObject({ kind: 'retryable', code: '469' });
  await insert();
  expect(reads).toBe(2);
});

test('the bytes of a result match the columns of the INSERT', async () => {
  const statements: { sql: string; body: Buffer }[] = [];
  const run = (_operation: string, { sql, body }: { sql: string; body?: Buffer }): Promise<Buffer> => {
    if (body !== undefined) statements.push({ sql, body });
    return Promise.resolve(Buffer.alloc(8));
  };
  const clickhouse = { run } as Partial<ClickHouse> as ClickHouse;
  await insertReplayResults({ clickhouse, clock: serverClock(clickhouse) }, [RESULT, RESULT], () => 5_000);
  const [{ sql, body } = { sql: '', body: Buffer.alloc(0) }] = statements;
  expect(sql).toBe(
    'INSERT INTO replay_results (project_uid, replay_uid, request_id, request_received_at, sent_at, expires_at, namespace, project, replay, target, url, method, sent_headers, sent_body, edited, status, response_headers, response_body, response_body_bytes, response_truncated, error, duration_us, first_byte_us, stored_before) FORMAT RowBinary',
  );
  expect(body.length).toBe(2 * 151);
  expect(body.subarray(151)).toEqual(body.subarray(0, 151));
  // Without the four bytes of stored_before.
  const digest = createHash('sha256').update(body.subarray(0, 147)).digest('hex');
  expect(digest).toBe('2cd8351962577f094f48236ef67095835b0b5cd7c5cc4fd8e9060c26513bcc4e');
});
