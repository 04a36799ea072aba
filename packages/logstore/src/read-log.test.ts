import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutCharacter } from './read-log.ts';

it('cutCharacter keeps only whole characters, so the result is UTF-8 and no more than three bytes shorter', () => {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), fc.nat(), (text, at) => {
      const whole = Buffer.from(text);
      const cut = whole.subarray(0, at % whole.length);
      const left = cutCharacter(cut, whole.length);
      expect(() => utf8.decode(left)).not.toThrow();
      expect(cut.length - left.length).toBeLessThanOrEqual(3);
    }),
  );
});

it('cutCharacter keeps every byte of a complete text and of bytes that are not text', () => {
  expect(cutCharacter(Buffer.from([0x61, 0xe2, 0x82]), 3)).toHaveLength(3);
  expect(cutCharacter(Buffer.alloc(6, 0x80), 100)).toHaveLength(6);
  expect(cutCharacter(Buffer.alloc(0), 100)).toHaveLength(0);
});
