/** Longer names are not compared. */
const LENGTH_MAX = 64;
/** The largest number of differences of a name that is suggested. */
const DISTANCE_MAX = 2;

/**
 * Returns the known name that is probably meant by one that is not known: a name that differs only in case, or in one character, or,
 * from six characters on, in two. Two characters that are swapped count as one. Returns undefined if there is none. The order of the
 * known names makes no difference. A comparison takes up to two microseconds.
 */
export const nearestName = (name: string, known: Iterable<string>): string | undefined => {
  if (name.length > LENGTH_MAX) return undefined;
  const wanted = name.toLowerCase();
  let nearest: string | undefined;
  let least = name.length < 3 ? 0 : name.length < 6 ? 1 : DISTANCE_MAX;
  for (const candidate of known) {
    if (candidate === name || candidate.length > LENGTH_MAX) continue;
    const distance = editDistance(wanted, candidate.toLowerCase(), least);
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
 * number than `max`. Only the cells near the diagonal can be part of a lower one, and only while one of a row is not higher.
 */
const editDistance = (a: string, b: string, max: number): number => {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  const far = max + 1;
  let [before, row, next] = ROWS;
  for (let j = 0; j <= max + 1; j += 1) row[j] = j;
  for (let i = 1; i <= a.length; i += 1) {
    const from = Math.max(1, i - max);
    const to = Math.min(b.length, i + max);
    next[from - 1] = from === 1 ? i : far;
    let least = next[from - 1] ?? far;
    for (let j = from; j <= to; j += 1) {
      const isSame = a.charCodeAt(i - 1) === b.charCodeAt(j - 1);
      let cell = Math.min((row[j - 1] ?? far) + (isSame ? 0 : 1), (row[j] ?? far) + 1, (next[j - 1] ?? far) + 1);
      const isSwap =
        i > 1 && j > 1 && a.charCodeAt(i - 1) === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1);
      if (isSwap) cell = Math.min(cell, (before[j - 2] ?? far) + 1);
      next[j] = cell;
      least = Math.min(least, cell);
    }
    next[to + 1] = far;
    if (least > max) return far;
    [before, row, next] = [row, next, before];
  }
  return row[b.length] ?? far;
};

/** The rows of `editDistance`, which overwrites them in each call. */
const ROWS: readonly [number[], number[], number[]] = [[], [], []];
