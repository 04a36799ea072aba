import { BODY_TEXT_TABLE, LOG_TABLE, type Column, type RowOf, type Table } from '@standin/contract';
import { SUMMARY_COLUMNS } from '@standin/exchange';
import { FORMATS } from './formats.ts';
import type { RowBinaryReader } from './row-binary-reader.ts';

/** The formats whose properties end with a unit that the column does not have. */
const UNITS: Readonly<Partial<Record<Column['format'], RegExp>>> = { microseconds: /Us$/, seconds: /S$/ };

const columnName = (property: string, { format }: Column): string =>
  property.replace(UNITS[format] ?? '', '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns the names of the columns, in the order in which rows are encoded. */
export const columnNames = (table: Table): readonly string[] =>
  Object.entries(table).map(([property, column]) => columnName(property, column));

/** The properties that `decodeSummaryRow` reads: those of a `LogSummary`, apart from the two that ClickHouse computes, and the version. */
export const SUMMARY_PROPERTIES = [...SUMMARY_COLUMNS, 'version'] as const;

/** The columns of a row in the log. A segment or a batch from an older gateway has only the first ones. */
export const LOG_COLUMNS = columnNames(LOG_TABLE);

/** The columns that follow those of a row in a batch with texts. */
export const BODY_TEXT_COLUMNS = columnNames(BODY_TEXT_TABLE);

/**
 * Returns the SQL of the columns that a migration adds, or of those that the table is created with. Without `codecs`, for a
 * Distributed table, which stores nothing.
 */
export const declareColumns = (
  table: Table,
  { since, codecs = true }: { readonly since: number | undefined; readonly codecs?: boolean },
): readonly string[] =>
  Object.entries(table)
    .filter(([, column]) => column.since === since)
    .map(([property, column]) => {
      const { type, codec }: { readonly type: string; readonly codec?: string } = FORMATS[column.format];
      const parts = [
        columnName(property, column),
        type,
        column.default === undefined ? '' : `DEFAULT '${column.default}'`,
        codec === undefined || !codecs ? '' : `CODEC(${codec})`,
      ];
      return parts.filter((part) => part !== '').join(' ');
    });

/** Some columns of a table for a `SELECT`, and how their values are read. */
export interface Selection<T> {
  readonly sql: string;
  readonly decode: (reader: RowBinaryReader) => T;
}

export const selection = <T extends Table, P extends keyof T & string>(
  table: T & Readonly<Record<P, Column>>,
  properties: readonly P[],
): Selection<Pick<RowOf<T>, P>> => {
  const columns = properties.map((property) => {
    const column = table[property];
    return { property, name: columnName(property, column), read: FORMATS[column.format].read };
  });
  return {
    sql: columns.map(({ name }) => name).join(', '),
    decode: (reader) => {
      const row: Partial<Record<P, unknown>> = {};
      for (const { property, read } of columns) row[property] = reader[read]();
      return row as Pick<RowOf<T>, P>;
    },
  };
};
