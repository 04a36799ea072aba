import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GatheredBytes } from './gathered-bytes.ts';
import { usedBytes } from './used-bytes.testing.ts';

test('the added bytes are returned whole and in order', () => {
  const lengths = fc.array(fc.oneof(fc.nat(3), fc.nat(30_000)), { maxLength: 1_500 });
  fc.assert(
    fc.property(lengths, (all) => {
      const whole = Buffer.from(
        Array.from(
          {
            length: Math.min(
              500_000,
              all.reduce((a, b) => a + b, 0),
            ),
          },
          (_, n) => n,
        ),
      );
      const gathered = new GatheredBytes();
      let at = 0;
      for (const length of all) {
        gathered.add(whole.subarray(at, at + length));
        at += length;
      }
      expect(gathered.bytes().equals(whole)).toBe(true);
    }),
    { numRuns: 50 },
  );
});

// If pieces are not joined, a body of 10 MiB in one-byte chunks takes 5 GB.
test('chunks of one byte need little more memory than their bytes', () => {
  const gathered = new GatheredBytes();
  const before = usedBytes();
  const BYTES = 500_000;
  for (let n = 0; n < BYTES; n += 1) gathered.add(Buffer.from(new Uint8Array(1).buffer));
  expect(usedBytes() - before).toBeLessThan(10 * BYTES);
  expect(gathered.bytes()).toHaveLength(BYTES);
});
