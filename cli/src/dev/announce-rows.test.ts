import { bodyTextsSize, encodeRow, LOG_COLUMNS, putBodyTexts, type InsertBatch } from '@standin/logstore';
import { newLogRow } from '@standin/exchange/testing';
import { expect, test } from 'vitest';
import { announceRows } from './announce-rows.ts';
import type { RequestEvent } from './dev-output.ts';

const START = new Date('2026-11-28T10:00:00Z');
const row = (path: string, secondsLater: number) =>
  newLogRow({ path, receivedAtUs: (START.getTime() + secondsLater * 1_000) * 1_000 });
const withTexts = (bytes: Buffer): Buffer => {
  const texts = { requestText: Buffer.from('x'.repeat(200)), responseText: Buffer.alloc(0) };
  const buffer = Buffer.alloc(bodyTextsSize(texts));
  putBodyTexts(buffer, texts, 0);
  return Buffer.concat([bytes, buffer]);
};

const announced = async (batch: Partial<InsertBatch>) => {
  const [events, inserted]: [RequestEvent[], InsertBatch[]] = [[], []];
  const store = {
    migrate: () => Promise.resolve(),
    insert: (one: InsertBatch) => Promise.resolve(void inserted.push(one)),
  };
  const sink = announceRows(store, START, (event) => events.push(event));
  await sink.insert({ rows: Buffer.alloc(0), rowCount: 1, token: 'a', ...batch });
  expect(inserted).toHaveLength(1);
  return events.map(({ path }) => path);
};
const ROWS = [row('/second', 2), row('/first', 1), row('/earlier', -1)].map(encodeRow);

test('stored requests are announced, oldest first, but not those of an earlier process', async () => {
  expect(await announced({ rows: Buffer.concat(ROWS) })).toEqual(['/first', '/second']);
});

test('requests with texts of their bodies are announced', async () => {
  expect(await announced({ rows: Buffer.concat(ROWS.map(withTexts)), hasTexts: true })).toEqual(['/first', '/second']);
});

test('requests of an earlier version are stored, but not announced', async () => {
  expect(await announced({ rows: Buffer.from('x'), columnCount: LOG_COLUMNS.length - 1 })).toEqual([]);
});
