import { afterAll, describe, expect, it } from 'vitest';
import { newLogRow } from '@standin/exchange/testing';
import { capturedParts } from '../captured/captured-bytes.ts';
import { startWorkers, type WorkerPool, type Workers, type WorkersOptions } from './workers.ts';

const MIB = 1024 * 1024;
const opened: WorkerPool[] = [];
/** Limits that are longer than a worker takes to start on a busy machine. */
const PATIENT = { waitMs: 120_000, deadlineMs: 120_000 };
const openPool = (options?: WorkersOptions): WorkerPool => {
  const pool = startWorkers({ ...PATIENT, ...options });
  opened.push(pool);
  return pool;
};
const open = (options?: WorkersOptions): Workers => openPool(options).for(() => 'ada');
afterAll(() => Promise.all(opened.map((workers) => workers.close())));

/** Returns a row with a request body of this length, in its own buffer. */
const testRow = (bytes: number, text: string) =>
  newLogRow({
    requestHeaders: [['content-type', 'application/json']],
    requestBody: new Uint8Array(Buffer.alloc(bytes, text)),
    responseBody: new Uint8Array(),
  });

const redact = (workers: Workers, row = testRow(10 * MIB, '{"token":"secret-0123456789"},')) =>
  workers.run('redactShare', { row, rules: undefined }, capturedParts(row));

describe('workers', { timeout: 120_000 }, () => {
  it('take over the bytes and keep the event loop free', async () => {
    const workers = open();
    await redact(workers);
    const row = testRow(10 * MIB, '[1,"x",{"a":2}],');
    const before = process.threadCpuUsage();
    const { exchange } = await redact(workers, row);
    const { user, system } = process.threadCpuUsage(before);
    expect(exchange.request.bytes).toBe(10 * MIB);
    expect(row.requestBody.length).toBe(0);
    // This is the CPU time of this thread for the whole call, so other processes do not affect it.
    expect((user + system) / 1_000).toBeLessThan(100);
  });

  it('keep the event loop free for a long head', async () => {
    const workers = open();
    await redact(workers);
    const row = newLogRow({
      requestHeaders: [['cookie', 'password: x;'.repeat(5_000)]],
      requestBody: new Uint8Array(),
    });
    const before = process.threadCpuUsage();
    await redact(workers, row);
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(50);
  });

  it('return the same result as inline calls for short bodies', async () => {
    const text = '{"token":"secret-0123456789"}';
    const here = await redact(open({ inlineBytesMax: MIB }), { ...testRow(text.length, text), id: 'a' });
    const there = await redact(open({ inlineBytesMax: 0 }), { ...testRow(text.length, text), id: 'a' });
    expect({ ...there.exchange, receivedAt: '' }).toEqual({ ...here.exchange, receivedAt: '' });
    expect(here.exchange.request.body).toContain('[redacted]');
  });

  it('do not transfer a shared buffer', async () => {
    const shared = Buffer.from('{"a":1}');
    const row = newLogRow({ requestBody: shared, responseBody: shared });
    await open({ inlineBytesMax: 0 }).run('redactShare', { row, rules: undefined }, [shared]);
    expect(shared.toString()).toBe('{"a":1}');
  });

  it('return bytes as bytes', async () => {
    const body = new Uint8Array(Buffer.from(`--b\r\n\r\n${'x'.repeat(64 * 1024)}\r\n--b--\r\n`));
    const input = { body, contentType: 'multipart/form-data; boundary=b', index: 0 };
    const item = await open({ inlineBytesMax: 0 }).run('multipartItem', input, [body]);
    expect(item).toEqual(new Uint8Array(Buffer.alloc(64 * 1024, 'x')));
  });

  it('abort a slow call and continue with the next one', async () => {
    const workers = open({ deadlineMs: 5 });
    await expect(redact(workers)).rejects.toMatchObject({ name: 'WorkRefused', reason: 'TooSlow' });
    const row = testRow(9 * 1024, 'a');
    const item = workers.run('multipartItem', { body: row.requestBody, contentType: 'text/plain', index: 0 }, [
      row.requestBody,
    ]);
    expect(await item).toBeUndefined();
  });

  it('refuse calls that would wait too long or exceed the maximum number of waiting calls', async () => {
    const late = open({ waitMs: 1 });
    await expect(redact(late)).rejects.toMatchObject({ reason: 'Busy' });
    const workers = open({ callsMax: 4 });
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => redact(workers)));
    const reasons = results.map((result) =>
      result.status === 'rejected' ? (result.reason as { reason: string }).reason : '',
    );
    expect(reasons.filter((reason) => reason === 'Busy').length).toBeGreaterThan(0);
    expect(reasons.filter((reason) => reason === '').length).toBeGreaterThan(0);
  });

  it('work for other users while one user has many slow calls', async () => {
    const pool = openPool();
    const slow = Array.from({ length: 10 }, () => redact(pool.for(() => 'ada')));
    let isSlowOver = false;
    const answers = Promise.allSettled(slow).finally(() => (isSlowOver = true));
    const body = new Uint8Array(Buffer.alloc(9 * 1024, 'a'));
    await pool.for(() => 'bob').run('multipartItem', { body, contentType: 'text/plain', index: 0 }, [body]);
    expect(isSlowOver).toBe(false);
    expect((await answers).filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
  });

  it('reject with the error that the function throws', async () => {
    const workers = open({ inlineBytesMax: -1 });
    await expect(workers.run('writeSnippet', {} as never, [])).rejects.toThrow(TypeError);
  });
});
