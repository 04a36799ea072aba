import type { ColumnFormat } from '@standin/contract';
import type * as rowBinary from './row-binary.ts';
import type { RowBinaryReader } from './row-binary-reader.ts';

/** How a format is declared in ClickHouse, and which functions write and read its values. */
interface Format {
  readonly type: string;
  readonly codec?: string;
  readonly put: Extract<keyof typeof rowBinary, `put${string}`>;
  /** The number of bytes of every value, or the function that returns the number for a value. */
  readonly size: number | Extract<keyof typeof rowBinary, `${string}Size`>;
  readonly read: keyof RowBinaryReader;
}

export const FORMATS = {
  uuid: { type: 'UUID', put: 'putUuid', size: 16, read: 'uuid' },
  bool: { type: 'Bool', put: 'putBool', size: 1, read: 'bool' },
  uint8: { type: 'UInt8', put: 'putUint8', size: 1, read: 'uint8' },
  uint16: { type: 'UInt16', codec: 'ZSTD(1)', put: 'putUint16', size: 2, read: 'uint16' },
  uint64: { type: 'UInt64', codec: 'ZSTD(1)', put: 'putUint64', size: 8, read: 'int64' },
  microseconds: { type: "DateTime64(6, 'UTC')", codec: 'Delta, ZSTD(1)', put: 'putUint64', size: 8, read: 'int64' },
  seconds: { type: "DateTime('UTC')", codec: 'Delta, ZSTD(1)', put: 'putUint32', size: 4, read: 'uint32' },
  name: { type: 'LowCardinality(String)', put: 'putText', size: 'textSize', read: 'text' },
  text: { type: 'String', codec: 'ZSTD(1)', put: 'putText', size: 'textSize', read: 'text' },
  latin1: { type: 'String', codec: 'ZSTD(1)', put: 'putLatin1', size: 'latin1Size', read: 'latin1' },
  headers: {
    type: 'Array(Tuple(name String, value String))',
    codec: 'ZSTD(1)',
    put: 'putPairs',
    size: 'pairsSize',
    read: 'pairs',
  },
  body: { type: 'String', codec: 'ZSTD(3)', put: 'putBytes', size: 'bytesSize', read: 'bytes' },
} as const satisfies Readonly<Record<ColumnFormat, Format>>;
