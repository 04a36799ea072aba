import { diff } from '@codemirror/merge';
import type { DiffLine } from './answer-diff.ts';

/** Lines before and after each change. */
const CONTEXT = 3;
const LINES_SHOWN_MAX = 400;
const LINE_CHARS_MAX = 400;
/** Above either limit, the comparison is coarser but not wrong. */
const LIMITS = { scanLimit: 2_000, timeout: 100 };

export interface LineDiff {
  readonly lines: readonly DiffLine[];
  /** Number of added or removed lines. */
  readonly total: number;
}

const cut = (text: string): string => (text.length > LINE_CHARS_MAX ? `${text.slice(0, LINE_CHARS_MAX)}…` : text);

interface Change {
  /** 0-based lines, without the end. */
  readonly before: readonly [from: number, to: number];
  readonly after: readonly [from: number, to: number];
}

/** Any character can stand for a line, except the halves of surrogate pairs, which belong together. */
const SURROGATES = { from: 0xd800, count: 0x800 };
const DISTINCT_LINES_MAX = 0x10000 - SURROGATES.count;

/** Encodes each distinct line as one character, so that a comparison of characters compares lines. Undefined: too many distinct lines. */
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

/** The differences between two texts, line by line, with the lines around them. */
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
  /** Keeps a single line, because a marker in its place would take as much space. */
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
