import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { HeaderPair } from '@standin/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bodyText, mayHaveText } from './body-text.ts';

const MIB = 1024 * 1024;
const JSON_TEXT = '{"event":"refund","name":"Zoë"}';

interface Decoded {
  readonly text: string | undefined;
  readonly units: number;
}

const decode = (headers: readonly HeaderPair[], body: Uint8Array, bytesMax = MIB): Decoded => {
  let units = 0;
  const text = bodyText(headers, body, { bytesMax, charge: (more) => (units += more) });
  return { text: text && Buffer.from(text).toString('latin1'), units };
};
const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

const json = Buffer.from(JSON_TEXT);
const coded = (coding: string, body: Uint8Array): [readonly HeaderPair[], Uint8Array] => [
  [
    ['content-type', 'application/json'],
    ['Content-Encoding', coding],
  ],
  body,
];
const typed = (type: string, bytes: string | Uint8Array): [readonly HeaderPair[], Uint8Array] => [
  [['Content-Type', type]],
  typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes,
];

describe('the text of a body', () => {
  test.each<[string, [readonly HeaderPair[], Uint8Array], string | undefined]>([
    ['gzip', coded('gzip', gzipSync(json)), utf8(JSON_TEXT)],
    ['gzip under its old name, in uppercase', coded('X-GZIP', gzipSync(json)), utf8(JSON_TEXT)],
    ['brotli', coded('br', brotliCompressSync(json)), utf8(JSON_TEXT)],
    ['zstd', coded('zstd', zstdCompressSync(json)), utf8(JSON_TEXT)],
    ['deflate with the zlib header', coded('deflate', deflateSync(json)), utf8(JSON_TEXT)],
    ['deflate without the zlib header', coded('deflate', deflateRawSync(json)), utf8(JSON_TEXT)],
    ['two codings', coded('gzip, br', brotliCompressSync(gzipSync(json))), utf8(JSON_TEXT)],
    ['two concatenated gzip members', coded('gzip', Buffer.concat([gzipSync('a'), gzipSync('b')])), 'ab'],
    ['bytes that are not text', coded('gzip', gzipSync(Buffer.from([0xff, 0, 0x61]))), '\xff\0a'],
    ['UTF-16 with a mark', typed('', '\xff\xfeh\0i\0'), 'hi'],
    ['UTF-16 without a mark', typed('text/plain; charset=utf-16be', '\0h\0i'), 'hi'],
    ['ISO-8859-1', typed('application/x-www-form-urlencoded; charset=ISO-8859-1', 'name=Zo\xeb'), utf8('name=Zoë')],
    ['a quoted charset', typed('text/plain; charset="windows-1251"', '\xcf\xf0'), utf8('Пр')],
    ['Shift_JIS', typed('text/plain;charset=shift_jis', '\x93\xfa'), utf8('日')],
    [
      'a coding and a charset',
      [
        [...coded('gzip', json)[0].slice(1), ['content-type', 'text/plain; charset=latin1']],
        gzipSync(Buffer.from([0xe9])),
      ],
      utf8('é'),
    ],
    ['UTF-8', typed('application/json; charset=utf-8', json), undefined],
    ['a body without headers', [[], json], undefined],
    ['ASCII in ISO-8859-1', typed('text/plain; charset=iso-8859-1', 'abc'), undefined],
    ['a charset that does not match the bytes', typed('text/plain; charset=utf-16', 'abc'), undefined],
    ['an unknown charset', typed('text/plain; charset=made-up', '\xe9'), undefined],
    ['an unknown coding', coded('aws-chunked', json), undefined],
    ['three codings', coded('gzip, gzip, gzip', gzipSync(gzipSync(gzipSync(json)))), undefined],
    ['identity', coded('identity', json), undefined],
    ['data in another coding', coded('br', gzipSync(json)), undefined],
    ['a body that was never compressed', coded('gzip', json), undefined],
    ['data that is cut off', coded('gzip', gzipSync(json).subarray(0, -9)), undefined],
    [
      'data whose checksum is wrong',
      coded('gzip', Buffer.concat([gzipSync(json).subarray(0, -8), Buffer.alloc(8)])),
      undefined,
    ],
    ['an empty body', coded('gzip', Buffer.alloc(0)), undefined],
    ['a compressed empty body', coded('gzip', gzipSync('')), undefined],
  ])('of %s', (_, [headers, body], expected) => {
    expect(decode(headers, body).text).toBe(expected);
  });

  test('is missing if it is longer than the limit', () => {
    const zeros = Buffer.alloc(MIB);
    for (const [coding, bomb] of Object.entries({
      gzip: gzipSync(zeros),
      br: brotliCompressSync(zeros),
      zstd: zstdCompressSync(zeros),
    })) {
      expect(decode(...coded(coding, bomb)).text).toHaveLength(MIB);
      expect(decode(...coded(coding, bomb), MIB - 1).text).toBeUndefined();
    }
    expect(decode(...typed('text/plain; charset=latin1', '\xe9'.repeat(MIB / 2))).text).toHaveLength(MIB);
    expect(decode(...typed('text/plain; charset=latin1', '\xe9'.repeat(MIB / 2 + 1))).text).toBeUndefined();
    expect(decode(...typed('text/plain; charset=latin1', '\xe9'.repeat(10 * MIB)))).toEqual({
      text: undefined,
      units: 0,
    });
  });

  test('of a gigabyte of zeros is not decoded beyond the limit', () => {
    const member = gzipSync(Buffer.alloc(MIB));
    const bomb = Buffer.concat(Array.from({ length: 1024 }, () => member));
    const before = process.cpuUsage();
    expect(decode(...coded('gzip', bomb)).text).toBeUndefined();
    expect(decode(...coded('gzip, gzip', gzipSync(bomb))).text).toBeUndefined();
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });

  test('is charged for, also if decoding fails', () => {
    expect(decode([], json).units).toBe(0);
    expect(decode(...coded('gzip', gzipSync(json))).units).toBeGreaterThan(0);
    expect(decode(...coded('gzip', gzipSync(json).subarray(0, -9))).units).toBeGreaterThan(MIB / 4);
    expect(decode(...coded('gzip', json)).units).toBe(0);
    expect(decode(...typed('text/plain; charset=latin1', 'abc')).units).toBeGreaterThan(1_000);
  });

  test('is charged more if a coding adds bytes that the next one reads', () => {
    const twice = gzipSync(gzipSync(Buffer.alloc(MIB / 2, 'abc'), { level: 0 }));
    expect(decode(...coded('gzip, gzip', twice)).units).toBeGreaterThan(2 * MIB);
    const random = gzipSync(Buffer.from(Array.from({ length: MIB / 2 }, (_, index) => (index * 2_654_435_761) >>> 13)));
    expect(decode(...coded('gzip, gzip', gzipSync(random))).units).toBeLessThan(MIB);
  });

  test('is expected from the headers and the first bytes', () => {
    const headers = fc.array(
      fc.tuple(
        fc.constantFrom('Content-Encoding', 'content-type', 'CONTENT-TYPE', 'x-other-header'),
        fc.constantFrom('gzip', 'text/plain', 'a/b; charset=latin1', 'a/b;charset=utf-16', 'a/b; charset=utf-8'),
      ),
      { maxLength: 4 },
    );
    const marks = fc.constantFrom([], [0xff, 0xfe], [0xfe, 0xff], [0xef, 0xbb, 0xbf]);
    fc.assert(
      fc.property(headers, marks, fc.uint8Array({ maxLength: 8 }), fc.boolean(), (pairs, mark, rest, isGzip) => {
        const bytes = Uint8Array.from([...mark, ...rest]);
        const body = isGzip ? gzipSync(bytes) : bytes;
        if (decode(pairs, body).text !== undefined) expect(mayHaveText(pairs, body)).toBe(true);
      }),
    );
    expect(mayHaveText([['content-type', 'application/json; charset=utf-8']], json)).toBe(false);
    expect(mayHaveText([['content-encoding', 'gzip']], Buffer.alloc(0))).toBe(false);
  });
});
