import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMs } from './cpu-time.testing.ts';
import { didYouMean, nearestName } from './nearest-name.ts';

/** Returns the distance by its definition (optimal string alignment). */
const plainDistance = (a: string, b: string): number => {
  if (a === '' || b === '') return a.length + b.length;
  const [lastA, lastB] = [a.at(-1), b.at(-1)];
  const rest = [a.slice(0, -1), b.slice(0, -1)] as const;
  if (lastA === lastB) return plainDistance(...rest);
  // A longer way is cut short, so that this takes little time.
  if (Math.abs(a.length - b.length) > 2) return 3;
  const isSwap = lastA === b.at(-2) && lastB === a.at(-2);
  return (
    1 +
    Math.min(
      plainDistance(...rest),
      plainDistance(rest[0], b),
      plainDistance(a, rest[1]),
      isSwap ? plainDistance(a.slice(0, -2), b.slice(0, -2)) : 3,
    )
  );
};

describe('the nearest name', () => {
  it.each([
    ['shopp', ['shop', 'other'], 'shop'],
    ['shp', ['shop'], 'shop'],
    ['hsop', ['shop'], 'shop'],
    ['ship', ['shop'], 'shop'],
    ['displayname', ['displayName', 'slug'], 'displayName'],
    ['respnoces', ['responses'], 'responses'],
    ['jsno', ['json', 'slug'], 'json'],
    ['orders', ['order', 'border'], 'order'],
    ['shop', ['shop'], undefined],
    ['shop', ['chop', 'stop'], 'chop'],
    ['shop', ['shapes', 'sh'], undefined],
    ['weather', ['json', 'forward'], undefined],
    ['a', ['b'], undefined],
    ['a', ['A'], 'A'],
    ['', ['a'], undefined],
    ['a'.repeat(65), ['a'.repeat(64)], undefined],
  ])('to %s in %j is %s', (name, known, expected) => {
    expect(nearestName(name, known)).toBe(expected);
  });

  it('does not depend on the order of the names', () => {
    expect(nearestName('shop', ['stop', 'chop'])).toBe('chop');
  });

  it('is the same as with a comparison of all characters', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 12 });
    fc.assert(
      fc.property(text, text, (name, known) => {
        const most = name.length < 3 ? 0 : name.length < 6 ? 1 : 2;
        const isNear = name !== known && plainDistance(name, known) <= most;
        expect(nearestName(name, [known])).toBe(isNear ? known : undefined);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    [
      'differ from their first characters on',
      (index: number) => `${'xyz'.repeat(19)}${String(index).padStart(6, '0')}`,
      20,
    ],
    ['differ at both ends', (index: number) => `b${'a'.repeat(56)}${String(index).padStart(6, '0')}`, 150],
  ])('is found in little time among long names that %s', (_how, known, maxMs) => {
    const name = `${'a'.repeat(57)}bcdefg`;
    const names = Array.from({ length: 50 }, (_, index) => known(index));
    const findAll = (): void => {
      for (let turn = 0; turn < 1_000; turn += 1) nearestName(name, names);
    };
    expect(cpuMs(findAll, maxMs)).toBeLessThan(maxMs);
  });

  it('is suggested in a message', () => {
    expect([didYouMean('shopp', ['shop']), didYouMean('x', ['shop'])]).toEqual([': did you mean shop?', '']);
  });
});
