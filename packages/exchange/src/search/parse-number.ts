import type { Comparison, NumberField, Term } from './filter.ts';

export type Amount = Extract<Term, { kind: 'compare' | 'range' }>;

/** Units of durations, in microseconds. */
export const DURATION_UNITS = { us: 1, ms: 1_000, s: 1_000_000, m: 60_000_000 } as const;
/** Units of sizes, in bytes. k and M are thousands and millions, as in the user interface. */
export const SIZE_UNITS = {
  b: 1,
  kb: 1_000,
  mb: 1_000_000,
  gb: 1_000_000_000,
  kib: 1_024,
  mib: 1_048_576,
  gib: 1_073_741_824,
} as const;

const comparisonText = /^(>=|<=|>|<|=)?(.+)$/s;

/** Parses strings such as `500`, `>=500`, `5xx`, `200-299` and `none`. Returns `undefined` for any other string. */
export const parseStatusValue = (text: string): Amount | undefined => {
  if (text.toLowerCase() === 'none') return { kind: 'compare', field: 'status', comparison: '=', value: 0 };
  const hundreds = /^([1-5])xx$/i.exec(text)?.[1];
  if (hundreds !== undefined) {
    const from = Number(hundreds) * 100;
    return { kind: 'range', field: 'status', from, to: from + 99 };
  }
  return parseAmount('status', text, /^([1-9]\d{2})$/, ([, digits]) => Number(digits));
};

const withUnit = /^(\d{1,16}(?:\.\d{1,6})?)([a-z]*)$/i;

const parseWithUnit = (
  field: NumberField,
  text: string,
  units: Readonly<Record<string, number>>,
  unitless: string | undefined,
): Amount | undefined =>
  parseAmount(field, text, withUnit, ([, number, unit]) => {
    const name = unit === '' ? unitless : unit?.toLowerCase();
    const scale = name !== undefined && Object.hasOwn(units, name) ? units[name] : undefined;
    if (scale === undefined) return number === '0' ? 0 : undefined;
    const value = Math.round(Number(number) * scale);
    return Number.isSafeInteger(value) ? value : undefined;
  });

/** Parses strings such as `>250ms`, `<1.5s` and `100ms-2s`. Every duration except 0 needs a unit. */
export const parseDurationValue = (text: string): Amount | undefined =>
  parseWithUnit('dur', text.replace('µs', 'us'), DURATION_UNITS, undefined);

/** Parses strings such as `>10kb`, `0`, `1024` and `1kib-1mib`. */
export const parseSizeValue = (field: NumberField, text: string): Amount | undefined =>
  parseWithUnit(field, text, SIZE_UNITS, 'b');

const parseAmount = (
  field: NumberField,
  text: string,
  form: RegExp,
  valueOf: (match: RegExpExecArray) => number | undefined,
): Amount | undefined => {
  const read = (part: string): number | undefined => {
    const match = form.exec(part);
    return match === null ? undefined : valueOf(match);
  };
  const ends = text.split('-');
  if (ends.length === 2) {
    const [from, to] = ends.map(read);
    return from === undefined || to === undefined || from > to ? undefined : { kind: 'range', field, from, to };
  }
  const [, sign, number = ''] = comparisonText.exec(text) ?? [];
  const value = read(number);
  return value === undefined ? undefined : { kind: 'compare', field, comparison: (sign ?? '=') as Comparison, value };
};
