import { diff } from '@codemirror/merge';
import type { DiffLine } from './answer-diff.ts';

/** Lines before and after each change. */
const CONTEXT = 3;
const LINES_SHOWN_MAX = 400;
const LINE_CHARS_MAX = 400;
/** Past either the comparison is coarser, not wrong. */
const LIMITS = { scanLimit: 2_000, timeout: 100 };

export interface LineDiff {
  readonly lines: readonly DiffLine[];
  /** Lines that were added or removed. */
  readonly total: number;
}

const cut = (text: string): string => (text.length > LINE_CHARS_MAX ? `${text.slice(0, LINE_CHARS_MAX)}…` : text);

interface Change {
  /** 0-based lines, the end excluded. */
  readonly before: readonly [from: number, to: number];
  readonly after: readonly [from: number, to: number];
}

/** Characters that stand for lines: all but the halves of surrogate pairs, which belong together. */
const SURROGATES = { from: 0xd800, count: 0x800 };
const DISTINCT_LINES_MAX = 0x10000 - SURROGATES.count;

/** Each different line as one character, so that what compares characters compares lines; `undefined` where there are too many. */
const asCharacters = (...texts: readonly (readonly string[])[]): string[] | undefined => {
  const codes = new Map<string, number>();
  const encoded = texts.map((lines) =>
    lines.map((line) => {
      const code = codes.get(line) ?? codes.size;
      codes.set(line, code);
      return String.fromCharCode(code < SURROGATES.from ? code : code + SURROGATES.count);
    }),
  );
  return codes.size > DISTINCT_LINES_MAX ? undefined : encoded.map((characters) => characters.join(''));
};

const changesOf = (before: readonly string[], after: readonly string[]): readonly Change[] => {
  const [old, now] = asCharacters(before, after) ?? [];
  if (old === undefined || now === undefined) return [{ before: [0, before.length], after: [0, after.length] }];
  return diff(old, now, LIMITS).map(({ fromA, toA, fromB, toB }) => ({ before: [fromA, toA], after: [fromB, toB] }));
};

/** What differs between two texts, line by line, with the lines around it. */
export const diffLines = (before: string, after: string): LineDiff => {
  const [old, now] = [before.split('\n'), after.split('\n')];
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
  const skip = (count: number): void => {
    if (count > 0) lines.push({ kind: 'skipped', count });
    atOld += count;
    atNow += count;
  };
  /** One line that is left out takes as much space as itself. */
  const pass = (count: number, lead: number, tail: number): void => {
    if (count <= lead + tail + 1) {
      keep(count);
      return;
    }
    keep(lead);
    skip(count - lead - tail);
    keep(tail);
  };
  for (const [index, change] of changesOf(old, now).entries()) {
    pass(change.before[0] - atOld, index === 0 ? 0 : CONTEXT, CONTEXT);
    for (; atOld < change.before[1]; atOld += 1)
      lines.push({ kind: 'removed', before: atOld + 1, text: cut(old[atOld] ?? '') });
    for (; atNow < change.after[1]; atNow += 1)
      lines.push({ kind: 'added', after: atNow + 1, text: cut(now[atNow] ?? '') });
    total += change.before[1] - change.before[0] + change.after[1] - change.after[0];
  }
  if (total > 0) pass(old.length - atOld, CONTEXT, 0);
  return { lines: lines.slice(0, LINES_SHOWN_MAX), total };
};
