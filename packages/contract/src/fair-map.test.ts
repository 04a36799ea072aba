import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cpuMs } from './cpu-time.testing.ts';
import { FairMap } from './fair-map.ts';

const keys = (map: FairMap<unknown>): string[] => Array.from(map, ([key]) => key).sort();

test('a holder with many values does not displace those of others', () => {
  const map = new FairMap<number>(100);
  map.set('quiet', 1, 'team-a');
  for (let index = 0; index < 1_000; index += 1) map.set(`busy-${index}`, index, 'team-b');
  expect(map.size).toBe(100);
  expect(['quiet', 'busy-900', 'busy-901', 'busy-999'].map((key) => map.get(key))).toEqual([1, undefined, 901, 999]);
});

test('a new holder has place, even if the map is full', () => {
  const map = new FairMap<number>(6);
  for (const holder of ['a', 'b', 'c']) for (const index of [1, 2]) map.set(`${holder}${index}`, index, holder);
  map.set('d1', 1, 'd');
  map.set('d2', 2, 'd');
  expect(keys(map)).toEqual(['a2', 'b2', 'c1', 'c2', 'd1', 'd2']);
});

test('the least recently used value is forgotten first, of the least recently used holder', () => {
  const map = new FairMap<number>(4);
  for (const key of ['a1', 'a2', 'b1', 'b2']) map.set(key, 0, key.slice(0, 1));
  map.get('a1');
  map.set('c1', 0, 'c');
  expect(keys(map)).toEqual(['a1', 'a2', 'b2', 'c1']);
  map.set('c2', 0, 'c');
  expect(keys(map)).toEqual(['a1', 'b2', 'c1', 'c2']);
});

test('a value that is set again may have another holder', () => {
  const map = new FairMap<number>(2);
  map.set('one', 1, 'a');
  map.set('one', 2, 'b');
  map.set('two', 3, 'a');
  map.set('three', 4, 'a');
  expect(Array.from(map)).toEqual([
    ['one', 2],
    ['three', 4],
  ]);
});

interface Step {
  readonly what: 'set' | 'get' | 'delete';
  readonly holder: string;
  readonly index: number;
}

/** Does the same as a FairMap, by going through everything. */
class PlainMap {
  readonly #max: number;
  /** In order of last use. */
  #entries: { readonly key: string; readonly holder: string }[] = [];
  #holders: string[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  get keys(): string[] {
    return this.#entries.map(({ key }) => key).sort();
  }

  run({ what, holder, index }: Step): void {
    const key = `${holder}${index}`;
    const isKnown = this.keys.includes(key);
    if (what !== 'set' && !isKnown) return;
    this.#remove(key);
    if (what === 'delete') return;
    this.#entries.push({ key, holder });
    this.#use(holder);
    if (this.#entries.length <= this.#max) return;
    const most = Math.max(...this.#holders.map((one) => this.#count(one)));
    const loser = this.#holders.find((one) => this.#count(one) === most);
    this.#remove(this.#entries.find((entry) => entry.holder === loser)?.key);
  }

  #count(holder: string): number {
    return this.#entries.filter((entry) => entry.holder === holder).length;
  }

  #remove(key: string | undefined): void {
    const removed = this.#entries.find((entry) => entry.key === key);
    if (removed === undefined) return;
    this.#entries = this.#entries.filter((entry) => entry !== removed);
    this.#use(removed.holder);
  }

  #use(holder: string): void {
    this.#holders = [...this.#holders.filter((one) => one !== holder), holder];
  }
}

test('the map keeps the same values as one that goes through everything', () => {
  const step: fc.Arbitrary<Step> = fc.record({
    what: fc.constantFrom('set', 'set', 'get', 'delete'),
    holder: fc.constantFrom('a', 'b', 'c', 'd'),
    index: fc.nat(5),
  });
  const property = fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 10 }), (steps, max) => {
    const map = new FairMap<string>(max);
    const plain = new PlainMap(max);
    for (const { what, holder, index } of steps) {
      const key = `${holder}${index}`;
      if (what === 'set') map.set(key, key, holder);
      else map[what](key);
      plain.run({ what, holder, index });
      expect(keys(map)).toEqual(plain.keys);
    }
  });
  fc.assert(property);
});

test.each([1, 100, 20_000])('a full map takes values of %i holders without going through all values', (holders) => {
  const map = new FairMap<number>(20_000);
  const fill = (): void => {
    for (let index = 0; index < 100_000; index += 1) map.set(`key-${index}`, index, `holder-${index % holders}`);
  };
  expect(cpuMs(fill, 500)).toBeLessThan(500);
});
