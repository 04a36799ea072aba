/** Reads the fields of a form. The fields of list items have names such as `spec.json.headers[0].name`. */
export interface FormReader {
  /** Returns an empty string for a missing field. */
  text(name: string): string;
  /** Returns the number of items in a list, but at most `max + 1`, so that the schema reports a list that is too long. */
  count(list: string, max: number): number;
}

/** The names of the form's own fields are shorter. */
const NAME_LENGTH_MAX = 128;

export const formReader = (form: FormData): FormReader => {
  const counts = new Map<string, number>();
  for (const name of form.keys()) {
    if (name.length > NAME_LENGTH_MAX) continue;
    for (const { 1: position, index } of name.matchAll(/\[(\d{1,4})\]\./g)) {
      const list = name.slice(0, index);
      counts.set(list, Math.max(counts.get(list) ?? 0, Number(position) + 1));
    }
  }
  return {
    text: (name) => {
      const value = form.get(name);
      return typeof value === 'string' ? value : '';
    },
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
