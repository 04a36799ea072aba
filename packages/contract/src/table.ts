import type { HeaderPair } from './config-objects.ts';

/** The values of a column by its format. packages/logstore declares, encodes and decodes each format (`FORMATS`). */
interface FormatValues {
  /** In lower case. */
  readonly uuid: string;
  readonly bool: boolean;
  readonly uint8: number;
  readonly uint16: number;
  /** A safe integer. */
  readonly uint64: number;
  /** A time in microseconds since the epoch. The property ends with `Us`, its column does not. */
  readonly microseconds: number;
  /** A time in seconds since the epoch. The property ends with `S`, its column does not. */
  readonly seconds: number;
  /** UTF-8 text of which there are few different values. */
  readonly name: string;
  /** UTF-8 text. */
  readonly text: string;
  /**
   * One byte per character, as Node returns headers and targets: `Buffer.from(value, 'latin1')` gives the bytes on the wire.
   */
  readonly latin1: string;
  /** Names and values in latin1, in wire order. */
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array;
}

export type ColumnFormat = keyof FormatValues;

export interface Column {
  readonly format: ColumnFormat;
  /** All values, if they are known. */
  readonly values?: readonly (string | number)[];
  /** The number of the migration that adds the column. Absent if the table is created with it. */
  readonly since?: number;
  /** The value of rows from before the column. By default, it is 0, false or empty. */
  readonly default?: string;
}

/**
 * The columns of a ClickHouse table by the property of a row, in the order in which rows are encoded. The name of a column is its
 * property in snake_case.
 */
export type Table = Readonly<Record<string, Column>>;

/** A row of a table. */
export type RowOf<T extends Table> = {
  readonly [P in keyof T]: T[P] extends { readonly values: readonly (infer V)[] } ? V : FormatValues[T[P]['format']];
};
