import type { Merge, Side } from './merge-values.ts';

/** The largest table of a comparison. Beyond this, everything between the first and the last change counts as changed. */
const CELLS_MAX = 1_000_000;

/** For each line of `a`, the index of the same line in `b`. Undefined for a line that `b` does not have. */
const matchLines = (a: readonly string[], b: readonly string[]): readonly (number | undefined)[] => {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [rows, columns] = [a.length - start - end, b.length - start - end];
  const inner =
    rows * columns > CELLS_MAX ? [] : commonLines(a.slice(start, start + rows), b.slice(start, start + columns));
  return a.map((_, index) => {
    if (index < start) return index;
    if (index >= a.length - end) return index - a.length + b.length;
    const match = inner[index - start];
    return match === undefined ? undefined : match + start;
  });
};

/** Matches the lines of a longest common subsequence. */
const commonLines = (a: readonly string[], b: readonly string[]): (number | undefined)[] => {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = a.length - 1; row >= 0; row -= 1)
    for (let column = b.length - 1; column >= 0; column -= 1)
      lengths[row * width + column] =
        a[row] === b[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
  const matches: (number | undefined)[] = [];
  let column = 0;
  for (let row = 0; row < a.length; row += 1) {
    while (column < b.length && a[row] !== b[column] && at(row, column + 1) === at(row, column)) column += 1;
    const isMatch = column < b.length && a[row] === b[column];
    matches.push(isMatch ? column : undefined);
    if (isMatch) column += 1;
  }
  return matches;
};

const text = (lines: readonly string[]): string | undefined => (lines.length === 0 ? undefined : lines.join('\n'));

/** Names the lines of the opened version that a change replaces. */
const place = (from: number, to: number): string => {
  if (to === from) return from === 0 ? 'before line 1' : `after line ${from}`;
  return to === from + 1 ? `line ${to}` : `lines ${from + 1}–${to}`;
};

/** Merges two changed versions of a text line by line. Changes collide if no unchanged line is between them. */
export const mergeText = (
  base: string,
  mine: string,
  theirs: string,
  prefer: (path: string) => Side = () => 'mine',
): Merge<string> => {
  const [o, a, b] = [base, mine, theirs].map((version) => version.split('\n')) as [string[], string[], string[]];
  const [inA, inB] = [matchLines(o, a), matchLines(o, b)];
  const merged: string[] = [];
  const collisions: Merge<string>['collisions'][number][] = [];
  const taken: string[] = [];
  let [atO, atA, atB] = [0, 0, 0];
  const change = (toO: number, toA: number, toB: number): void => {
    const [was, here, there] = [o.slice(atO, toO), a.slice(atA, toA), b.slice(atB, toB)];
    const path = place(atO, toO);
    const isSame = (x: readonly string[], y: readonly string[]): boolean =>
      x.length === y.length && x.every((line, index) => line === y[index]);
    if (isSame(was, there) || isSame(here, there)) merged.push(...here);
    else if (isSame(was, here)) {
      taken.push(path);
      merged.push(...there);
    } else {
      collisions.push({ path, base: text(was), mine: text(here), theirs: text(there) });
      merged.push(...(prefer(path) === 'mine' ? here : there));
    }
    [atO, atA, atB] = [toO, toA, toB];
  };
  for (let line = 0; line < o.length; line += 1) {
    const [toA, toB] = [inA[line], inB[line]];
    if (toA === undefined || toB === undefined) continue;
    // A line that all three versions have ends the change before it.
    if (line > atO || toA > atA || toB > atB) change(line, toA, toB);
    change(line + 1, toA + 1, toB + 1);
  }
  if (o.length > atO || a.length > atA || b.length > atB) change(o.length, a.length, b.length);
  return { merged: merged.join('\n'), collisions, taken };
};
