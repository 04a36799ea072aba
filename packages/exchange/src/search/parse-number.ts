import { ownMember } from '@standin/contract';
import type { Comparison, NumberField, Term } from './filter.ts';

export type Amount = Extract<Term, { kind: 'compare' | 'range' }>;

/** The result is undefined for text in another form, and `reversed` for a range that ends before it begins. */
export type ParsedAmount = Amount | 'reversed' | undefined;

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

/** Parses strings such as `500`, `>=500`, `5xx`, `200-299` and `none`. */
export const parseStatusValue = (text: string): ParsedAmount => {
  if (text.toLowerCase() === 'none') return { kind: 'compare', field: 'status', comparison: '=', value: 0 };
  const hundreds = /^([1-5])xx$/i.exec(text)?.[1];
  if (hundreds !== undefined) {
    const from = Number(hundreds) * 100;
    return { kind: 'range', field: 'status', from, to: from + 99 };
  }
  return parseAmount('status', text, /^([1-9]\d{2})$/, ([, digits = '']) => BigInt(digits) * MILLION);
};

/** Numbers are written with up to six decimal places, so in millionths they are exact. */
const MILLION = 1_000_000n;

const withUnit = /^(\d{1,16})(?:\.(\d{1,6}))?([a-z]*)$/i;

const parseWithUnit = (
  field: NumberField,
  text: string,
  units: Readonly<Record<string, number>>,
  unitless: string | undefined,
): ParsedAmount =>
  parseAmount(field, text, withUnit, ([, integer = '', fraction = '', unit]) => {
    const name = unit === '' ? unitless : unit?.toLowerCase();
    const scale = name === undefined ? undefined : ownMember(units, name);
    if (scale === undefined) return integer === '0' && fraction === '' ? 0n : undefined;
    return BigInt(integer + fraction.padEnd(6, '0')) * BigInt(scale);
  });

/** Parses strings such as `>250ms`, `<1.5s` and `100ms-2s`. Every duration except 0 needs a unit. */
export const parseDurationValue = (text: string): ParsedAmount =>
  parseWithUnit('dur', text.replaceAll('µs', 'us'), DURATION_UNITS, undefined);

/** Parses strings such as `>10kb`, `0`, `1024` and `1kib-1mib`. */
export const parseSizeValue = (field: NumberField, text: string): ParsedAmount =>
  parseWithUnit(field, text, SIZE_UNITS, 'b');

/** A comparison of whole numbers, which those in the log are, with a fraction is one with a whole number next to it. */
const floor = (millionths: bigint): number => Number(millionths / MILLION);
const ceil = (millionths: bigint): number => floor(millionths + MILLION - 1n);

const parseAmount = (
  field: NumberField,
  text: string,
  form: RegExp,
  toMillionths: (match: RegExpExecArray) => bigint | undefined,
): ParsedAmount => {
  const read = (part: string): bigint | undefined => {
    const match = form.exec(part);
    const millionths = match === null ? undefined : toMillionths(match);
    return millionths !== undefined && Number.isSafeInteger(ceil(millionths)) ? millionths : undefined;
  };
  // No number in the log is negative.
  const nothing: Amount = { kind: 'compare', field, comparison: '<', value: 0 };
  const ends = text.split('-');
  if (ends.length === 2) {
    const [from, to] = ends.map(read);
    if (from === undefined || to === undefined) return undefined;
    if (from > to) return 'reversed';
    return ceil(from) > floor(to) ? nothing : { kind: 'range', field, from: ceil(from), to: floor(to) };
  }
  const [, sign = '=', number = ''] = comparisonText.exec(text) ?? [];
  const value = read(number);
  if (value === undefined) return undefined;
  if (sign === '=' && value % MILLION !== 0n) return nothing;
  // Rounded so that the same whole numbers match.
  const isUp = sign === '>=' || sign === '<';
  return { kind: 'compare', field, comparison: sign as Comparison, value: isUp ? ceil(value) : floor(value) };
};
