import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeText } from './merge-text.ts';

const lines = (...all: readonly string[]): string => all.join('\n');
const BASE = lines('a', 'b', 'c', 'd', 'e');

describe('a merge of texts', () => {
  it('contains the changes of both if an unchanged line is between them', () => {
    const merge = mergeText(BASE, lines('a', 'B', 'c', 'd', 'e'), lines('a', 'b', 'c', 'D', 'd2', 'e'));
    expect(merge).toEqual({ merged: lines('a', 'B', 'c', 'D', 'd2', 'e'), collisions: [], taken: ['line 4'] });
  });

  it('takes lines that the other user has added or removed', () => {
    const merge = mergeText(BASE, lines('a', 'b', 'c', 'd', 'E'), lines('0', 'a', 'c', 'd', 'e'));
    expect(merge).toEqual({
      merged: lines('0', 'a', 'c', 'd', 'E'),
      collisions: [],
      taken: ['before line 1', 'line 2'],
    });
  });

  it('reports changes of the same lines, and keeps the preferred side', () => {
    const [mine, theirs] = [lines('a', 'mine', 'c', 'd', 'e'), lines('a', 'their', 'words', 'c', 'd')];
    const merge = mergeText(BASE, mine, theirs);
    expect(merge.collisions).toEqual([{ path: 'line 2', base: 'b', mine: 'mine', theirs: lines('their', 'words') }]);
    expect(merge.merged).toBe(lines('a', 'mine', 'c', 'd'));
    expect(mergeText(BASE, mine, theirs, () => 'theirs').merged).toBe(theirs);
  });

  it('reports lines that one user has changed and the other has removed', () => {
    const merge = mergeText(BASE, lines('a', 'B', 'C', 'd', 'e'), lines('a', 'd', 'e'));
    expect(merge.collisions).toEqual([
      { path: 'lines 2–3', base: lines('b', 'c'), mine: lines('B', 'C'), theirs: undefined },
    ]);
  });

  it('of texts that are too long to compare treats the changed part as one change', () => {
    const long = (name: string): string[] => Array.from({ length: 2_000 }, (_, index) => `${name} ${index}`);
    const [base, mine] = [lines('a', ...long('x'), 'z'), lines('a', ...long('y'), 'z')];
    expect(mergeText(base, mine, base).merged).toBe(mine);
    expect(mergeText(base, base, mine).taken).toEqual(['lines 2–2001']);
  });

  it('of any texts is the change if only one user has changed something, and collisions name different places', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 1, maxLength: 8 })
      .map((all) => lines(...all));
    fc.assert(
      fc.property(text, text, text, (base, mine, theirs) => {
        expect(mergeText(base, mine, base)).toEqual({ merged: mine, collisions: [], taken: [] });
        expect(mergeText(base, base, theirs)).toMatchObject({ merged: theirs, collisions: [] });
        expect(mergeText(base, mine, mine)).toEqual({ merged: mine, collisions: [], taken: [] });
        const places = mergeText(base, mine, theirs).collisions.map(({ path }) => path);
        expect(new Set(places).size).toBe(places.length);
      }),
    );
  });
});
