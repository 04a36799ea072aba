/** Longer names are not compared. */
const LENGTH_MAX = 64;
/** The largest number of differences of a name that is suggested. */
const DISTANCE_MAX = 2;

/**
 * Returns the known name that is probably meant by one that is not known: a name that differs only in case, or in one character, or,
 * from six characters on, in two. Two characters that are swapped count as one. Returns undefined if there is none. The order of the
 * known names makes no difference. A comparison takes up to a microsecond or two.
 */
export const nearestName = (name: string, known: Iterable<string>): string | undefined => {
  if (name.length > LENGTH_MAX) return undefined;
  const wanted = name.toLowerCase();
  let nearest: string | undefined;
  let least = name.length < 3 ? 0 : name.length < 6 ? 1 : DISTANCE_MAX;
  for (const candidate of known) {
    if (candidate === name || candidate.length > LENGTH_MAX) continue;
    if (Math.abs(candidate.length - name.length) > least) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance > least || (distance === least && nearest !== undefined && nearest < candidate)) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
};

/** Returns `: did you mean NAME?`, or empty text. */
export const didYouMean = (name: string, known: Iterable<string>): string => {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : `: did you mean ${nearest}?`;
};

/**
 * Returns the number of characters to insert, delete, replace or swap with their neighbour (optimal string alignment), or a higher
 * number than `DISTANCE_MAX`. Only the cells near the diagonal can be part of a lower one.
 */
const editDistance = (a: string, b: string): number => {
  const far = DISTANCE_MAX + 1;
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next: number[] = new Array<number>(b.length + 1).fill(far);
    next[0] = i;
    for (let j = Math.max(1, i - DISTANCE_MAX); j <= Math.min(b.length, i + DISTANCE_MAX); j += 1) {
      const change = (row[j - 1] ?? far) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? (before[j - 2] ?? far) + 1 : far;
      next[j] = Math.min(change, swap, (row[j] ?? far) + 1, (next[j - 1] ?? far) + 1);
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? far;
};
