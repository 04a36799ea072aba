import { gzipSync } from 'node:zlib';
import { encodeRow } from '@standin/logstore';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { testRow } from '../record/spool/spool.testing.ts';
import { BodyTextWorker } from './body-text-worker.ts';

const messages: string[] = [];
const logger = pino({}, { write: (line: string) => void messages.push((JSON.parse(line) as { msg: string }).msg) });
const worker = new BodyTextWorker(logger);
afterAll(() => worker.close());

const batch = (rows: Buffer) => ({ rows, ends: [rows.length], columnCount: 1, withText: [0] });

test('rows that cannot be decoded are left as they are, and later rows get their texts', async () => {
  expect(await worker.add(batch(Buffer.alloc(40, 0xff)))).toBeUndefined();
  expect(messages).toEqual(['could not decode bodies, inserting rows without texts']);
  const headers = [['content-encoding', 'gzip']] as const;
  const row = encodeRow(testRow({ requestHeaders: headers, requestBody: gzipSync('the text') }));
  const kept = Buffer.from(row);
  const texts = await worker.add(batch(row));
  expect(texts?.subarray(0, row.length)).toEqual(kept);
  expect(texts?.includes('the text')).toBe(true);
  expect(row).toEqual(kept);
});
