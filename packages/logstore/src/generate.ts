import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BODY_TEXT_TABLE, LOG_TABLE, ownMember, type Table } from '@standin/contract';
import { SUMMARY_PROPERTIES } from './columns.ts';
import { FORMATS } from './formats.ts';
import { REPLAY_RESULTS_TABLE } from './replay-results-table.ts';

/** The encoding of a table's rows. */
interface Codec {
  readonly table: Table;
  /** The type of a row. */
  readonly row: string;
  /** The names of the functions. */
  readonly size: string;
  readonly put: string;
  /** The properties that each decoder reads, by its name. */
  readonly decoders?: Readonly<Record<string, readonly string[]>>;
}

const LOG_PROPERTIES = Object.keys(LOG_TABLE);
/** Every row begins with these columns, also one from an older gateway. */
const ROW_START = LOG_PROPERTIES.slice(0, LOG_PROPERTIES.indexOf('responseBody') + 1);

const LOG: Codec = {
  table: LOG_TABLE,
  row: 'LogRow',
  size: 'rowSize',
  put: 'putRow',
  decoders: { decodeRow: LOG_PROPERTIES, decodeRowStart: ROW_START, decodeSummaryRow: SUMMARY_PROPERTIES },
};
const BODY_TEXTS: Codec = {
  table: BODY_TEXT_TABLE,
  row: 'BodyTexts',
  size: 'bodyTextsSize',
  put: 'putBodyTexts',
  decoders: { decodeBodyTexts: Object.keys(BODY_TEXT_TABLE) },
};
const REPLAY_RESULTS: Codec = {
  table: REPLAY_RESULTS_TABLE,
  row: 'ReplayResult',
  size: 'replayResultSize',
  put: 'putReplayResult',
};

/** Prettier breaks longer lines. */
const LINE_CHARS_MAX = 120;

const columnsIn = (table: Table) =>
  Object.entries(table).map(([property, { format, values }]) => ({ property, values, ...FORMATS[format] }));

const sizeSource = ({ table, row, size, put }: Codec): string => {
  const columns = columnsIn(table);
  const fixed = columns.reduce((sum, column) => sum + (typeof column.size === 'number' ? column.size : 0), 0);
  const variable = columns
    .filter((column) => typeof column.size === 'string')
    .map((column) => `${column.size}(row.${column.property})`);
  const terms = fixed === 0 ? variable : [fixed, ...variable];
  const head = `export const ${size} = (row: ${row}): number =>`;
  const line = `${head} ${terms.join(' + ')};`;
  return `/** Returns the number of bytes that \`${put}\` writes. */
${line.length <= LINE_CHARS_MAX ? line : `${head}\n  ${terms.join(' +\n  ')};`}
`;
};

const putSource = ({ table, row, put }: Codec): string => `/**
 * Writes one row as RowBinary. Returns the offset after the row. The bytes of a row are the same on every call, because a retried batch
 * must match the first attempt byte for byte.
 */
export const ${put} = (buffer: Buffer, row: ${row}, offset: number): number => {
  let at = offset;
${columnsIn(table)
  .map((column) => `  at = ${column.put}(buffer, row.${column.property}, at);\n`)
  .join('')}  return at;
};
`;

const decodeSource = ({ table, row, decoders = {} }: Codec): string =>
  Object.entries(decoders)
    .map(
      ([name, properties]) => `
/** Decodes columns of a \`${row}\`. Bodies are views of the reader's buffer. */
export const ${name} = (reader: RowBinaryReader) => ({
  // The properties of an object literal are evaluated in order.
${properties
  .map((property) => {
    const column = ownMember(table, property);
    if (column === undefined) throw new Error(`the table has no column ${property}`);
    const type = column.values === undefined ? '' : ` as ${row}['${property}']`;
    return `  ${property}: reader.${FORMATS[column.format].read}()${type},\n`;
  })
  .join('')}});
`,
    )
    .join('');

const CODECS = [LOG, BODY_TEXTS, REPLAY_RESULTS];
const FILE = 'packages/logstore/src/codecs.generated.ts';

/**
 * Returns the encoders and decoders of the tables, as text by path below the repository root. A loop over the columns takes 1.5
 * times the CPU of this code (ADR 007), and the encoder runs for each request. The decoder of summaries runs for each row of a list.
 */
export const generateCodecs = (): ReadonlyMap<string, string> => {
  const columns = CODECS.flatMap(({ table }) => columnsIn(table));
  const functions = new Set<string>(
    columns.flatMap(({ put, size }) => (typeof size === 'string' ? [put, size] : [put])),
  );
  const source = `// Generated from LOG_TABLE, BODY_TEXT_TABLE and REPLAY_RESULTS_TABLE by \`npm run generate\`.
import type { BodyTexts, LogRow } from '@standin/contract';
import type { ReplayResult } from './replay-results-table.ts';
import {
${[...functions]
  .sort()
  .map((name) => `  ${name},\n`)
  .join('')}} from './row-binary.ts';
import type { RowBinaryReader } from './row-binary-reader.ts';

${CODECS.map((codec) => `${sizeSource(codec)}\n${putSource(codec)}${decodeSource(codec)}`).join('\n')}`;
  return new Map([[FILE, source]]);
};

if (import.meta.main) {
  for (const [file, content] of generateCodecs()) writeFileSync(join(import.meta.dirname, '../../..', file), content);
}
