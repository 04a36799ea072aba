import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineSplitter } from './line-splitter.ts';

const splitLines = (chunks: readonly Buffer[], lineBytesMax = 1_000): string[] => {
  const splitter = new LineSplitter(lineBytesMax);
  return [...chunks.flatMap((chunk) => [...splitter.push(chunk)]), splitter.rest()];
};

test('the lines are the same, regardless of how the bytes are split into chunks', () => {
  const text = fc.array(fc.constantFrom('a', 'ü', '漢', '\n')).map((letters) => letters.join(''));
  fc.assert(
    fc.property(text, fc.nat(5), (whole, size) => {
      const bytes = Buffer.from(whole);
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size + 1) chunks.push(bytes.subarray(at, at + size + 1));
      expect(splitLines(chunks)).toEqual(whole.split('\n'));
    }),
  );
});

test('a line that is too long is rejected, whether it arrives in one chunk or in several', () => {
  expect(splitLines([Buffer.from('1234\n')], 4)).toEqual(['1234', '']);
  expect(() => splitLines([Buffer.from('12345\n')], 4)).toThrow(RangeError);
  expect(() => splitLines([Buffer.from('123'), Buffer.from('45')], 4)).toThrow(RangeError);
});
