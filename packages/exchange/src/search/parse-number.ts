import { ownMember } from '@standin/contract';
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
  return parseAmount('status', text, /^([1-9]\d{2})$/, ([, digits]) => whole(Number(digits)));
};

/** A written number. The log contains whole numbers, so a comparison with a fraction is one with a whole number next to it. */
interface Written {
  readonly floor: number;
  readonly ceil: number;
}

const whole = (value: number): Written => ({ floor: value, ceil: value });

const withUnit = /^(\d{1,16})(?:\.(\d{1,6}))?([a-z]*)$/i;

const parseWithUnit = (
  field: NumberField,
  text: string,
  units: Readonly<Record<string, number>>,
  unitless: string | undefined,
): Amount | undefined =>
  parseAmount(field, text, withUnit, ([, integer = '', fraction = '', unit]) => {
    const name = unit === '' ? unitless : unit?.toLowerCase();
    const scale = name === undefined ? undefined : ownMember(units, name);
    if (scale === undefined) return integer === '0' && fraction === '' ? whole(0) : undefined;
    // Floating-point arithmetic on the number as a whole would make fractions of whole numbers, as with 1.1 * 1e6.
    const base = Number(integer) * scale;
    const rest = (Number(fraction) * scale) / 10 ** fraction.length;
    const ceil = base + Math.ceil(rest);
    return Number.isSafeInteger(ceil) ? { floor: base + Math.floor(rest), ceil } : undefined;
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
  valueOf: (match: RegExpExecArray) => Written | undefined,
): Amount | undefined => {
  const read = (part: string): Written | undefined => {
    const match = form.exec(part);
    return match === null ? undefined : valueOf(match);
  };
  // No number in the log is negative.
  const nothing: Amount = { kind: 'compare', field, comparison: '<', value: 0 };
  const ends = text.split('-');
  if (ends.length === 2) {
    const [from, to] = ends.map(read);
    if (from === undefined || to === undefined || from.floor > to.floor || from.ceil > to.ceil) return undefined;
    return from.ceil > to.floor ? nothing : { kind: 'range', field, from: from.ceil, to: to.floor };
  }
  const [, sign = '=', number = ''] = comparisonText.exec(text) ?? [];
  const value = read(number);
  if (value === undefined) return undefined;
  if (sign === '=' && value.floor !== value.ceil) return nothing;
  // Rounded so that the same whole numbers match.
  const isUp = sign === '>=' || sign === '<';
  return { kind: 'compare', field, comparison: sign as Comparison, value: isUp ? value.ceil : value.floor };
};
