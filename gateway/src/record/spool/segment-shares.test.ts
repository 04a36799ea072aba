import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SharedPool } from '@standin/contract';
import { encodeRow, LOG_COLUMNS } from '@standin/logstore';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { encodeHeader, FRAME_HEAD_BYTES, newSegmentHeader, putFrameHead } from './segment-format.ts';
import { SegmentShares } from './segment-shares.ts';
import { testRow } from './spool.testing.ts';

const header = newSegmentHeader(LOG_COLUMNS.length);

/** Returns the frame of a row of this namespace. */
const frame = (namespace: string, bodyBytes = 0): Buffer => {
  const row = encodeRow(testRow({ namespace, requestBody: Buffer.alloc(bodyBytes) }));
  const bytes = Buffer.concat([Buffer.alloc(FRAME_HEAD_BYTES), row]);
  putFrameHead(bytes, 0, { header, type: 'exchange', mayHaveText: false, rowBytes: row.length });
  return bytes;
};
const segmentWith = (...frames: readonly Buffer[]): Buffer => Buffer.concat([encodeHeader(header), ...frames]);

let dir: string;
let pool: SharedPool;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'standin-shares-'));
  pool = new SharedPool(1e9);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Counts a file as the next process does. */
const read = async (segment: Buffer): Promise<SegmentShares> => {
  const file = path.join(dir, 'segment');
  await writeFile(file, segment);
  const shares = new SegmentShares(pool, segment.length);
  await shares.read(file);
  return shares;
};
const held = (...namespaces: readonly string[]): number[] => namespaces.map((namespace) => pool.heldBy(namespace));

test('the frames of a write count for the namespaces of their rows, until the segment is removed', () => {
  const frames = [frame('a', 10), frame('a', 500_000), frame('b'), frame('a'.repeat(63))];
  const [first = 0, second = 0, third, fourth] = frames.map(({ length }) => length);
  const shares = new SegmentShares(pool, 28);
  shares.addFrames(Buffer.concat(frames));
  expect(held('', 'a', 'b', 'a'.repeat(63))).toEqual([28, first + second, third, fourth]);
  expect(shares.bytes).toBe(segmentWith(...frames).length);
  shares.free();
  shares.free();
  expect([pool.used, ...held('', 'a', 'b')]).toEqual([0, 0, 0, 0]);
});

test('the next process finds out what the process before it counted', async () => {
  const frames = Array.from({ length: 3_000 }, (_, index) => frame(`team-${index % 7}`, (index * 7_919) % 3_000));
  frames.splice(1_000, 0, frame('large', 3_000_000));
  const segment = segmentWith(...frames);
  new SegmentShares(pool, 28).addFrames(segment.subarray(28));
  const names = ['', 'large', ...Array.from({ length: 7 }, (_, index) => `team-${index}`)];
  const counted = held(...names);
  pool = new SharedPool(1e9);
  await read(segment);
  expect(held(...names)).toEqual(counted);
  expect(pool.used).toBe(segment.length);
});

test('damaged, cut off and unknown bytes belong to no namespace, and the frames after them to their namespaces', async () => {
  const one = frame('a', 300_000);
  const damaged = Buffer.alloc(300_000, 1);
  const torn = frame('b', 1_000).subarray(0, 50);
  await read(segmentWith(one, damaged, one, torn));
  expect(held('', 'a', 'b')).toEqual([28 + damaged.length + torn.length, 2 * one.length, 0]);
  pool = new SharedPool(1e9);
  const unknown = segmentWith(one).fill(0, 0, 8);
  await read(unknown);
  expect(held('', 'a')).toEqual([unknown.length, 0]);
});

test('a segment that is removed while it is read counts for no namespace', async () => {
  const segment = segmentWith(frame('a', 1_000_000));
  const file = path.join(dir, 'segment');
  await writeFile(file, segment);
  const shares = new SegmentShares(pool, segment.length);
  const reading = shares.read(file);
  shares.free();
  await reading;
  expect([pool.used, ...held('', 'a')]).toEqual([0, 0, 0]);
});

test('a complete segment remembers only the namespaces with the largest parts', () => {
  const shares = new SegmentShares(pool, 28);
  const frames = Array.from({ length: 1_000 }, (_, index) => frame(`small-${index}`));
  shares.addFrames(Buffer.concat([...frames, frame('large', 1_000_000)]));
  const { used } = pool;
  shares.complete();
  expect(pool.heldBy('small-1')).toBe(0);
  expect(pool.heldBy('large')).toBeGreaterThan(1_000_000);
  expect([pool.used, shares.bytes]).toEqual([used, used]);
  shares.free();
  expect(pool.used).toBe(0);
});

test('a compacted segment counts with what is left of it', () => {
  const shares = new SegmentShares(pool, 28);
  const [first, second] = [frame('a', 1_000), frame('b', 2_000)];
  shares.addFrames(Buffer.concat([first, second]));
  shares.replace(segmentWith(second));
  expect(held('', 'a', 'b')).toEqual([28, 0, second.length]);
});
