import { isRecord, ownMember } from '@standin/contract';
import { without } from '../../src/api/without.ts';
import { isSame } from '../ui/merge-values.ts';
import { scalarText } from './condition-values.ts';
import { savedPart, type FormReader } from './form-reader.ts';

/** The durations of each type of delay, as paths in `delay`. */
const DURATIONS = {
  Fixed: ['fixed'],
  Uniform: ['uniform.min', 'uniform.max'],
  LogNormal: ['logNormal.median', 'logNormal.p99'],
} as const;
export type DelayDuration = (typeof DURATIONS)[keyof typeof DURATIONS][number];

/** The type is empty if there is no delay. */
export type DelayValues = Readonly<Record<'type' | DelayDuration, string>>;

export const NO_DELAY: DelayValues = {
  type: '',
  fixed: '',
  'uniform.min': '',
  'uniform.max': '',
  'logNormal.median': '',
  'logNormal.p99': '',
};

const FIELDS = Object.keys(NO_DELAY) as readonly (keyof DelayValues)[];
const fromFields = (read: (field: keyof DelayValues) => string): DelayValues =>
  Object.fromEntries(FIELDS.map((field) => [field, read(field)])) as DelayValues;

/** @param path the path of the delay, such as `spec.json.delay` */
export const readDelay = (reader: FormReader, path: string): DelayValues =>
  fromFields((field) => reader.text(`${path}.${field}`).trim());

/** Returns the paths that errors can be assigned to. */
export const delayFields = (path: string): string[] => [path, ...FIELDS.map((field) => `${path}.${field}`)];

/** Converts `delay`, as written, to the values of the form. */
export const toDelayValues = (delay: unknown): DelayValues =>
  fromFields((field) =>
    scalarText(field.split('.').reduce((value, name) => (isRecord(value) ? ownMember(value, name) : undefined), delay)),
  );

/**
 * Returns the `delay` field, or nothing. `saved` is this field as written. It is returned if it was not edited, or if its type is one
 * that the form does not know. Otherwise, its fields that the form does not show are kept.
 */
export const toDelay = (values: DelayValues, saved: unknown): { readonly delay?: unknown } => {
  if (saved !== undefined && isSame(values, toDelayValues(saved))) return { delay: saved };
  const { type } = values;
  const before = savedPart(saved);
  // A type that the form does not know may have fields that no other type may have.
  const others = Object.hasOwn(DURATIONS, scalarText(before['type']))
    ? without(before, 'type', 'fixed', 'uniform', 'logNormal')
    : {};
  switch (type) {
    case '':
      return {};
    case 'Fixed':
      return { delay: { type, fixed: values.fixed, ...others } };
    case 'Uniform': {
      const uniform = { min: values['uniform.min'], max: values['uniform.max'] };
      return {
        delay: { type, uniform: { ...uniform, ...without(savedPart(before['uniform']), 'min', 'max') }, ...others },
      };
    }
    case 'LogNormal': {
      const logNormal = { median: values['logNormal.median'], p99: values['logNormal.p99'] };
      const kept = without(savedPart(before['logNormal']), 'median', 'p99');
      return { delay: { type, logNormal: { ...logNormal, ...kept }, ...others } };
    }
    default:
      return { delay: saved };
  }
};

/** Returns a delay as text, such as `Uniform 10ms to 50ms`, or an empty string. */
export const delayText = (values: DelayValues): string => {
  const durations = Object.entries(DURATIONS).find(([type]) => type === values.type)?.[1] ?? [];
  return [values.type, durations.map((field) => values[field]).join(' to ')].join(' ').trim();
};
