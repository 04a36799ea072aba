import { without } from '../../src/api/without.ts';
import { isSame } from '../ui/merge-values.ts';
import { lineFeeds, savedLine, savedLines } from '../ui/text-lines.ts';
import { scalarText } from './condition-values.ts';
import { savedPart, type FormReader } from './form-reader.ts';

/** All fields are empty if there is no draw. */
export type DrawValues = Readonly<Record<'percent' | 'key' | 'seed', string>>;

export const NO_DRAW: DrawValues = { percent: '', key: '', seed: '' };

/** @param path the path of the draw, such as `spec.responses[0].draw` */
export const readDraw = (reader: FormReader, path: string): DrawValues => ({
  percent: reader.text(`${path}.percent`).trim(),
  key: lineFeeds(reader.text(`${path}.key`)).trim(),
  seed: reader.text(`${path}.seed`).trim(),
});

/** Returns the paths that errors can be assigned to. */
export const drawFields = (path: string): string[] => [
  path,
  ...Object.keys(NO_DRAW).map((field) => `${path}.${field}`),
];

/** Converts `draw`, as written, to the values of the form. A text field of one line contains no line breaks. */
export const toDrawValues = (draw: unknown): DrawValues => {
  const { percent, key, seed } = savedPart(draw);
  return {
    percent: scalarText(percent),
    key: lineFeeds(scalarText(key)).trim(),
    seed: scalarText(seed)
      .replaceAll(/[\r\n]/g, '')
      .trim(),
  };
};

/** Returns the `draw` field, or nothing. `saved` is this field as written. Its fields that were not edited are kept. */
export const toDraw = (values: DrawValues, saved: unknown): { readonly draw?: unknown } => {
  const before = toDrawValues(saved);
  if (isSame(values, before)) return saved === undefined ? {} : { draw: saved };
  if (isSame(values, NO_DRAW)) return {};
  const { percent, key, seed } = values;
  const written = savedPart(saved);
  return {
    draw: {
      ...(percent !== '' && { percent: percent === before.percent ? written['percent'] : decimalOrText(percent) }),
      ...(seed !== '' && { seed: savedLine(seed, written['seed']) }),
      ...(key !== '' && { key: savedLines(key, written['key']) }),
      ...without(written, 'percent', 'seed', 'key'),
    },
  };
};

const decimalOrText = (text: string): number | string => (/^-?\d{1,6}(\.\d{1,9})?$/.test(text) ? Number(text) : text);

/** Returns a draw as text, such as `5% by path.id`, or an empty string. */
export const drawText = ({ percent, key }: DrawValues): string =>
  percent === '' ? '' : `${percent}%${key === '' ? '' : ` by ${key}`}`;
