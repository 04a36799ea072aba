import type { HeaderPair } from '@standin/contract';

/**
 * The part of ClickHouse's RowBinary that the log needs: little-endian integers, strings with a LEB128 length, arrays with a LEB128
 * count, a UUID as two little-endian UInt64, DateTime64 as Int64, DateTime as UInt32.
 * https://clickhouse.com/docs/interfaces/formats/RowBinary
 *
 * `…Size` returns the number of bytes that `put…` writes. `put…` returns the offset after them.
 */

/** Strings up to this length are copied in a loop, which is faster for them than a call into the runtime. */
const SHORT_STRING_LENGTH = 40;

export const varintSize = (value: number): number => {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
};

export const putVarint = (buffer: Buffer, value: number, offset: number): number => {
  let rest = value;
  let at = offset;
  while (rest >= 0x80) {
    buffer[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  buffer[at++] = rest;
  return at;
};

/** Returns the number of bytes of a string in UTF-8. */
const textLength = (text: string): number => {
  if (text.length > SHORT_STRING_LENGTH) return Buffer.byteLength(text);
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) return Buffer.byteLength(text);
  return text.length;
};

export const textSize = (text: string): number => {
  const length = textLength(text);
  return varintSize(length) + length;
};

/** Writes a UTF-8 string. */
export const putText = (buffer: Buffer, text: string, offset: number): number => {
  const length = text.length;
  if (length > SHORT_STRING_LENGTH) return putLongText(buffer, text, offset);
  buffer[offset] = length;
  let at = offset + 1;
  let seen = 0;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    seen |= code;
    buffer[at++] = code;
  }
  return seen < 0x80 ? at : putLongText(buffer, text, offset);
};

const putLongText = (buffer: Buffer, text: string, offset: number): number => {
  const length = Buffer.byteLength(text);
  const at = putVarint(buffer, length, offset);
  return at + buffer.write(text, at, length, 'utf8');
};

export const latin1Size = (text: string): number => varintSize(text.length) + text.length;

/** Writes one byte per character. */
export const putLatin1 = (buffer: Buffer, text: string, offset: number): number => {
  const length = text.length;
  let at = putVarint(buffer, length, offset);
  if (length > SHORT_STRING_LENGTH) return at + buffer.write(text, at, length, 'latin1');
  for (let i = 0; i < length; i++) buffer[at++] = text.charCodeAt(i);
  return at;
};

export const bytesSize = (bytes: Uint8Array): number => varintSize(bytes.length) + bytes.length;

export const putBytes = (buffer: Buffer, bytes: Uint8Array, offset: number): number => {
  const at = putVarint(buffer, bytes.length, offset);
  buffer.set(bytes, at);
  return at + bytes.length;
};

export const pairsSize = (pairs: readonly HeaderPair[]): number => {
  let size = varintSize(pairs.length);
  for (const pair of pairs) size += latin1Size(pair[0]) + latin1Size(pair[1]);
  return size;
};

/** Writes latin1 strings as `Array(Tuple(String, String))`. */
export const putPairs = (buffer: Buffer, pairs: readonly HeaderPair[], offset: number): number => {
  let at = putVarint(buffer, pairs.length, offset);
  for (const pair of pairs) at = putLatin1(buffer, pair[1], putLatin1(buffer, pair[0], at));
  return at;
};

export const putBool = (buffer: Buffer, value: boolean, offset: number): number => {
  buffer[offset] = value ? 1 : 0;
  return offset + 1;
};

export const putUint8 = (buffer: Buffer, value: number, offset: number): number => {
  buffer[offset] = value;
  return offset + 1;
};

export const putUint16 = (buffer: Buffer, value: number, offset: number): number => {
  buffer[offset] = value;
  buffer[offset + 1] = value >>> 8;
  return offset + 2;
};

export const putUint32 = (buffer: Buffer, value: number, offset: number): number => {
  buffer[offset] = value;
  buffer[offset + 1] = value >>> 8;
  buffer[offset + 2] = value >>> 16;
  buffer[offset + 3] = value >>> 24;
  return offset + 4;
};

/** Writes a non-negative safe integer as a (U)Int64. */
export const putUint64 = (buffer: Buffer, value: number, offset: number): number =>
  putUint32(buffer, Math.floor(value / 0x1_0000_0000), putUint32(buffer, value >>> 0, offset));

/**
 * The positions of a UUID's 16 bytes in its text. `putUuid` writes each half of the bytes in reverse, because ClickHouse stores a
 * UUID as two little-endian UInt64.
 */
const UUID_TEXT_OFFSETS = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;
export const UUID_SIZE = 16;

const hexDigit = (code: number): number => (code <= 0x39 ? code - 0x30 : (code | 0x20) - 0x57);

export const putUuid = (buffer: Buffer, uuid: string, offset: number): number => {
  for (let i = 0; i < UUID_SIZE; i++) {
    const at = UUID_TEXT_OFFSETS[i] ?? 0;
    const byte = (hexDigit(uuid.charCodeAt(at)) << 4) | hexDigit(uuid.charCodeAt(at + 1));
    buffer[offset + (i < 8 ? 7 - i : 23 - i)] = byte;
  }
  return offset + UUID_SIZE;
};
