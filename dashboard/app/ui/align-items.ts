/** The largest table of a comparison. Beyond this, everything between the first and the last change counts as changed. */
const CELLS_MAX = 1_000_000;

/** For each text of `a`, the index of the same text in `b`. Undefined for a text that `b` does not have. Keeps the order. */
export const matchTexts = (a: readonly string[], b: readonly string[]): readonly (number | undefined)[] => {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [rows, columns] = [a.length - start - end, b.length - start - end];
  const inner =
    rows * columns > CELLS_MAX ? [] : commonTexts(a.slice(start, start + rows), b.slice(start, start + columns));
  return a.map((_, index) => {
    if (index < start) return index;
    if (index >= a.length - end) return index - a.length + b.length;
    const match = inner[index - start];
    return match === undefined ? undefined : match + start;
  });
};

/** Matches the texts of a longest common subsequence. */
const commonTexts = (a: readonly string[], b: readonly string[]): (number | undefined)[] => {
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

/**
 * For each item of an edited list, returns the index of the saved item that it was. Items match if a key is the same. Each further
 * key is for the items that the keys before it do not match. Between two matches, equally many items match by their position, because
 * a user who edits an item does not move it. Undefined for a new item.
 */
export const alignItems = <Item>(
  edited: readonly Item[],
  saved: readonly Item[],
  keys: readonly ((item: Item) => string)[],
): readonly (number | undefined)[] => {
  const [key, ...others] = keys;
  if (key === undefined) return edited.map((_, index) => (edited.length === saved.length ? index : undefined));
  const matches = matchTexts(edited.map(key), saved.map(key));
  const aligned: (number | undefined)[] = [];
  let from = 0;
  while (aligned.length < edited.length) {
    const start = aligned.length;
    let end = start;
    while (end < edited.length && matches[end] === undefined) end += 1;
    const to = matches[end] ?? saved.length;
    for (const index of alignItems(edited.slice(start, end), saved.slice(from, to), others))
      aligned.push(index === undefined ? undefined : from + index);
    if (end < edited.length) aligned.push(to);
    from = to + 1;
  }
  return aligned;
};
