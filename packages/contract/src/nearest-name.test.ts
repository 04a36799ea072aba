import { describe, expect, it } from 'vitest';
import { didYouMean, nearestName } from './nearest-name.ts';

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

  it('is suggested in a message', () => {
    expect([didYouMean('shopp', ['shop']), didYouMean('x', ['shop'])]).toEqual([': did you mean shop?', '']);
  });
});
