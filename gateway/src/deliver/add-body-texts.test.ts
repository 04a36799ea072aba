import { brotliCompressSync, gzipSync } from 'node:zlib';
import { LIMITS, type BodyTexts, type LogRow } from '@standin/contract';
import { decodeBodyTexts, decodeRow, encodeRow, RowBinaryReader } from '@standin/logstore';
import { describe, expect, test } from 'vitest';
import { testRow } from '../record/spool/spool.testing.ts';
import { addBodyTexts } from './add-body-texts.ts';

const MIB = 1024 * 1024;
const GZIP = [['content-encoding', 'gzip']] as const;

const gzipped = (text: string | Buffer, more: Partial<LogRow> = {}): LogRow =>
  testRow({ requestHeaders: GZIP, requestBody: gzipSync(text), ...more });

/** Adds the texts to rows, of which each may have one. */
const add = (rows: readonly LogRow[], withText: readonly number[] = [...rows.keys()]): Uint8Array => {
  const encoded = rows.map(encodeRow);
  let end = 0;
  return addBodyTexts({ rows: Buffer.concat(encoded), ends: encoded.map(({ length }) => (end += length)), withText });
};

const read = (bytes: Uint8Array): { readonly row: LogRow; readonly texts: BodyTexts }[] => {
  const reader = new RowBinaryReader(Buffer.from(bytes));
  const found = [];
  while (!reader.done) found.push({ row: decodeRow(reader), texts: decodeBodyTexts(reader) });
  return found;
};

/** Returns the texts of the requests. */
const requestTexts = (rows: readonly LogRow[]): string[] =>
  read(add(rows)).map(({ texts }) => Buffer.from(texts.requestText).toString());

describe('the texts of bodies', () => {
  test('follow each row, whose own bytes stay the same', () => {
    const rows = [
      testRow(),
      gzipped('{"a":1}', { responseHeaders: [['content-encoding', 'br']], responseBody: brotliCompressSync('answer') }),
      testRow({ requestHeaders: [['content-type', 'text/plain; charset=latin1']], requestBody: Buffer.from([0xe9]) }),
      gzipped('not looked at'),
    ];
    const found = read(add(rows, [1, 2]));
    expect(found.map(({ row }) => row)).toEqual(rows);
    const texts = found.map(({ texts: { requestText, responseText } }) => [
      Buffer.from(requestText).toString(),
      Buffer.from(responseText).toString(),
    ]);
    expect(texts).toEqual([
      ['', ''],
      ['{"a":1}', 'answer'],
      ['é', ''],
      ['', ''],
    ]);
  });

  test('are the same bytes each time', () => {
    const rows = Array.from({ length: 300 }, (_, index) => gzipped(Buffer.alloc(MIB / 4, `${index} `)));
    expect(Buffer.compare(add(rows), add(rows))).toBe(0);
  });

  test('are limited in a segment of bombs, which ends soon', () => {
    const bomb = gzipSync(Buffer.alloc(2 * MIB));
    const rows = Array.from({ length: 10_000 }, () => testRow({ requestHeaders: GZIP, requestBody: bomb.subarray() }));
    const before = process.cpuUsage();
    const bytes = add(rows);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(3_000);
    expect(read(bytes).every(({ texts }) => texts.requestText.length === 0)).toBe(true);
  });

  test('are limited in a segment of tables of codes that are compressed again, which ends soon', () => {
    // Four empty blocks, each with a table of codes.
    const blocks = Buffer.from(
      '04c081000000000090ff6b100007020000000040feaf41001c080000000000f9bf060170200000000000e4ff1a',
      'hex',
    );
    const deflated = Buffer.concat([
      Buffer.alloc(0.9 * MIB, blocks).subarray(0, 20_000 * 45),
      Buffer.from('010100feff41', 'hex'),
    ]);
    const requestHeaders = [['content-encoding', 'deflate, gzip']] as const;
    const bomb = testRow({ requestHeaders, requestBody: gzipSync(deflated) });
    expect(requestTexts([bomb])).toEqual(['A']);
    const before = process.cpuUsage();
    add(Array.from({ length: 200 }, () => bomb));
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_500);
  });

  test('take at most so many bytes for a segment', () => {
    const body = gzipSync(Buffer.alloc(MIB));
    const rows = Array.from({ length: 200 }, () => testRow({ requestHeaders: GZIP, requestBody: body }));
    const found = requestTexts(rows).filter((text) => text !== '');
    expect(found.length).toBeGreaterThan(20);
    expect(found.length * MIB).toBeLessThan(LIMITS.segmentTextUnitsMax);
  });

  test('of a namespace do not depend on the bombs of another one', () => {
    const bomb = gzipSync(Buffer.alloc(2 * MIB));
    const bombs = Array.from({ length: 1_000 }, () =>
      testRow({ namespace: 'other', requestHeaders: GZIP, requestBody: bomb }),
    );
    const own = Array.from({ length: 20 }, (_, index) => gzipped(`text ${index}`, { namespace: 'own' }));
    const found = requestTexts([...bombs, ...own, ...bombs]);
    expect(found.filter((text) => text !== '')).toEqual(own.map((_, index) => `text ${index}`));
  });
});
