import { matchTexts } from './align-items.ts';
import type { Merge, Side } from './merge-values.ts';

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
  const [inA, inB] = [matchTexts(o, a), matchTexts(o, b)];
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
