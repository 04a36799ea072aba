import { InvalidArgumentError } from 'commander';

/** `404`, `5xx` or `200-299`. */
export const parseStatus = (text: string): { readonly min: number; readonly max: number } => {
  const match = /^(?:([1-5])xx|(\d{3})(?:-(\d{3}))?)$/i.exec(text);
  if (match === null) throw new InvalidArgumentError('must be like 404, 5xx or 200-299.');
  const [, hundreds, from, to] = match;
  if (hundreds !== undefined) return { min: Number(hundreds) * 100, max: Number(hundreds) * 100 + 99 };
  return { min: Number(from), max: Number(to ?? from) };
};
