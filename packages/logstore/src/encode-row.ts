import { LOG_TABLE, type LogRow } from '@standin/contract';
import { putRow, rowSize } from './codecs.generated.ts';
import { FORMATS } from './formats.ts';
import { RowBinaryReader } from './row-binary-reader.ts';

/** The number of bytes before the namespace. The columns before it have a fixed size. */
const NAMESPACE_OFFSET = Object.entries(LOG_TABLE)
  .slice(0, Object.keys(LOG_TABLE).indexOf('namespace'))
  .reduce((bytes, [, { format }]) => bytes + Number(FORMATS[format].size), 0);
/** From the namespace on, the columns before the uid of the project are texts. */
const TEXTS_BEFORE_PROJECT_UID =
  Object.keys(LOG_TABLE).indexOf('projectUid') - Object.keys(LOG_TABLE).indexOf('namespace');
/** Kubernetes allows 63 characters of ASCII, whose length takes one byte. */
const NAMESPACE_LENGTH_MAX = 63;
/** A row's namespace is within this many bytes of its start, and every row is longer. */
export const NAMESPACE_END_MAX = NAMESPACE_OFFSET + 1 + NAMESPACE_LENGTH_MAX;

/** Returns the namespace of a row without decoding the row. Empty if there is no valid namespace. */
export const namespaceAt = (buffer: Buffer, rowStart: number): string => {
  const start = rowStart + NAMESPACE_OFFSET + 1;
  const length = buffer[start - 1] ?? 0;
  return length > NAMESPACE_LENGTH_MAX ? '' : buffer.toString('latin1', start, start + length);
};

/** Returns the uid of a valid row's project without decoding the row. */
export const projectUidAt = (buffer: Buffer, rowStart: number): string => {
  const reader = new RowBinaryReader(buffer.subarray(rowStart + NAMESPACE_OFFSET));
  for (let column = 0; column < TEXTS_BEFORE_PROJECT_UID; column++) reader.bytes();
  return reader.text();
};

/** Encodes one row as RowBinary in a new buffer. The body of an insert is a concatenation of rows. See `putRow`. */
export const encodeRow = (row: LogRow): Buffer => {
  const buffer = Buffer.allocUnsafe(rowSize(row));
  putRow(buffer, row, 0);
  return buffer;
};
