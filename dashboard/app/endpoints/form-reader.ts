import { isRecord } from '@standin/contract';
import { without } from '../../src/api/without.ts';
import { alignItems } from '../ui/align-items.ts';

/** Reads the fields of a form. The fields of list items have names such as `spec.json.headers[0].name`. */
export interface FormReader {
  /** Returns an empty string for a missing field. */
  text(name: string): string;
  /** Returns the number of items in a list, but at most `max + 1`, so that the schema reports a list that is too long. */
  count(list: string, max: number): number;
}

/** The names of the fields that belong to lists have this prefix and are shorter. */
const LISTS_PREFIX = 'spec.';
const NAME_LENGTH_MAX = 128;
/** More than the largest valid endpoint has. */
const FIELDS_MAX = 10_000;

/** The end of the name of a field that contains all fields of a list item, such as `spec.responses[0].packed`. */
export const PACKED = '.packed';

/** More than a valid response has. */
const PACKED_MAX = 300;

/**
 * Returns the value of a `PACKED` field. Closed cards have one, because a page with all of their fields would be slow. It is JSON with
 * `~` in the place of `"`, which HTML would escape with six characters.
 */
export const packed = (item: object): string => JSON.stringify(item).replaceAll('~', '\\u007e').replaceAll('"', '~');

/** Yields the fields of a form that contains these values, such as `headers[0].name`. */
export const formFields = function* (value: unknown, name = ''): Generator<[name: string, text: string]> {
  if (typeof value !== 'object' || value === null) {
    yield [name, String(value)];
    return;
  }
  const isList = Array.isArray(value);
  for (const [key, item] of Object.entries(value) as [string, unknown][])
    yield* formFields(item, isList ? `${name}[${key}]` : name === '' ? key : `${name}.${key}`);
};

const unpacked = (name: string, text: string): [name: string, text: string][] => {
  try {
    const item: unknown = JSON.parse(text.replaceAll('~', '"'));
    const fields: [name: string, text: string][] = [];
    if (!isRecord(item)) return fields;
    for (const field of formFields(item, name.slice(0, -PACKED.length))) if (fields.push(field) === PACKED_MAX) break;
    return fields;
  } catch {
    return [];
  }
};

export const formReader = (form: FormData): FormReader => {
  // `FormData.get` searches all fields each time.
  const texts = new Map<string, string>();
  const counts = new Map<string, number>();
  const add = (name: string, value: string): void => {
    if (texts.has(name) || texts.size >= FIELDS_MAX) return;
    texts.set(name, value);
    if (!name.startsWith(LISTS_PREFIX) || name.length > NAME_LENGTH_MAX) return;
    for (const { 1: position, index } of name.matchAll(/\[(\d{1,4})\]\./g)) {
      const list = name.slice(0, index);
      counts.set(list, Math.max(counts.get(list) ?? 0, Number(position) + 1));
    }
  };
  for (const [name, value] of form) {
    if (typeof value !== 'string') continue;
    add(name, name.endsWith(PACKED) ? '' : value);
    if (name.endsWith(PACKED)) for (const [field, text] of unpacked(name, value)) add(field, text);
  }
  return {
    text: (name) => texts.get(name) ?? '',
    count: (list, max) => Math.min(counts.get(list) ?? 0, max + 1),
  };
};

/** A row of text fields, at least a name and a value. */
export interface RowValues {
  readonly name: string;
  readonly value: string;
}

/** Returns the rows of a list, which have the fields of `empty`. Rows without a name and a value are ignored. */
export const readRows = <Row extends RowValues>(reader: FormReader, list: string, empty: Row, max: number): Row[] =>
  Array.from({ length: reader.count(list, max) }, (_, index) => {
    const fields = Object.keys(empty).map((field) => [field, reader.text(`${list}[${index}].${field}`)] as const);
    return Object.fromEntries(fields) as unknown as Row;
  }).filter(({ name, value }) => name !== '' || value !== '');

/** A part of the saved object, as written. */
export type Saved = Readonly<Record<string, unknown>>;

export const savedPart = (value: unknown): Saved => (isRecord(value) ? value : {});

export const savedItems = (value: unknown): readonly Saved[] => (Array.isArray(value) ? value.filter(isRecord) : []);

interface RowFormat<Row> {
  /** Converts an item of the list, as written, to a row. */
  readonly read: (item: Saved) => Row;
  /** The fields of an item that the form shows. */
  readonly fields: readonly string[];
  readonly write: (row: Row) => Saved;
}

/** The row as text. Text fields of one line contain no line breaks. */
const rowText = (row: RowValues): string =>
  JSON.stringify(row, (_, value: unknown) => (typeof value === 'string' ? value.replaceAll(/[\r\n]/g, '') : value));

/**
 * Converts rows to the items of a list. Keeps unedited items of the saved list as written, and the fields of edited items that the
 * form does not show.
 */
export const toItems = <Row extends RowValues>(
  rows: readonly Row[],
  saved: unknown,
  { read, fields, write }: RowFormat<Row>,
): readonly Saved[] => {
  const items = savedItems(saved);
  const before = items.map(read);
  const origins = alignItems(rows, before, [rowText, ({ name }) => name]);
  return rows.map((row, index) => {
    const origin = origins[index] ?? -1;
    const [item, was] = [items[origin], before[origin]];
    if (item === undefined || was === undefined) return write(row);
    return rowText(row) === rowText(was) ? item : { ...write(row), ...without(item, ...fields) };
  });
};
