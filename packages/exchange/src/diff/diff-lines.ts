import { diffArrays } from 'diff';
import { excerpt } from './excerpt.ts';
import type { DiffLine } from './response-diff.ts';

/** Number of unchanged lines to show before and after each change. */
const CONTEXT = 3;
const LINES_SHOWN_MAX = 400;
const LINE_CHARS_MAX = 400;
/**
 * Maximum number of added and removed lines to compute. Beyond this number, the diff replaces everything between the first and last
 * change, because the time grows with the square of this number.
 */
const EDITS_MAX = 500;

export interface LineDiff {
  readonly lines: readonly DiffLine[];
  /** Number of added and removed lines, including those that are not in `lines`. */
  readonly total: number;
}

/** @param other the line that this one replaces, or that replaces it */
const cut = (text: string, other?: string): string => excerpt(text, other, LINE_CHARS_MAX);

interface Part {
  readonly count: number;
  readonly added: boolean;
  readonly removed: boolean;
}

const diffParts = (before: readonly string[], after: readonly string[]): readonly Part[] =>
  diffArrays([...before], [...after], { maxEditLength: EDITS_MAX }) ?? replacedParts(before, after);

/** Returns a diff that replaces everything between the first and the last difference. */
const replacedParts = (before: readonly string[], after: readonly string[]): readonly Part[] => {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const same = { added: false, removed: false };
  return [
    { ...same, count: start },
    { count: before.length - start - end, added: false, removed: true },
    { count: after.length - start - end, added: true, removed: false },
    { ...same, count: end },
  ].filter(({ count }) => count > 0);
};

/** Compares two strings line by line. The result includes the lines around each difference. */
export const diffLines = (before: string, after: string): LineDiff => {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const parts = diffParts(old, now);
  const lines: DiffLine[] = [];
  let total = 0;
  let [atOld, atNow] = [0, 0];
  const keep = (count: number): void => {
    for (let index = 0; index < count; index += 1) {
      lines.push({ kind: 'same', before: atOld + 1, after: atNow + 1, text: cut(old[atOld] ?? '') });
      atOld += 1;
      atNow += 1;
    }
  };
  /**
   * Adds the first `lead` and the last `tail` of the unchanged lines, and an item that counts the skipped lines between them. Does
   * not skip a single line, because the item would take as much space.
   */
  const pass = (count: number, lead: number, tail: number): void => {
    const skipped = count - lead - tail;
    if (skipped <= 1) {
      keep(count);
      return;
    }
    keep(lead);
    lines.push({ kind: 'skipped', count: skipped });
    atOld += skipped;
    atNow += skipped;
    keep(tail);
  };
  for (const [index, { count, added, removed }] of parts.entries()) {
    if (added || removed) total += count;
    const [last, next] = [parts[index - 1], parts[index + 1]];
    if (removed)
      for (let line = 0; line < count; line += 1, atOld += 1) {
        const other = next?.added === true && line < next.count ? now[atNow + line] : undefined;
        lines.push({ kind: 'removed', before: atOld + 1, text: cut(old[atOld] ?? '', other) });
      }
    else if (added)
      for (let line = 0; line < count; line += 1, atNow += 1) {
        const other = last?.removed === true && line < last.count ? old[atOld - last.count + line] : undefined;
        lines.push({ kind: 'added', after: atNow + 1, text: cut(now[atNow] ?? '', other) });
      }
    else if (parts.length > 1) pass(count, index === 0 ? 0 : CONTEXT, index === parts.length - 1 ? 0 : CONTEXT);
  }
  return { lines: lines.slice(0, LINES_SHOWN_MAX), total };
};
