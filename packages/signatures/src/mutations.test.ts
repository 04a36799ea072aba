import type { HeaderPair } from '@standin/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EXAMPLES, exampleVerdict, type Example } from './examples.testing.ts';

const MUTATIONS = 10_000;

const SIGNED: readonly (readonly [string, Example])[] = Object.entries(EXAMPLES).filter(([name]) => name !== 'Token');

const flipBit = (bytes: Buffer, bit: number): Buffer => {
  const flipped = Buffer.from(bytes);
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return flipped;
};

const digestEncoding = (digest: string): 'hex' | 'base64' => (/^[0-9a-f]+$/.test(digest) ? 'hex' : 'base64');

/** A part of a request that a signature protects, and how to replace it. */
interface Part {
  readonly bytes: Buffer;
  readonly replace: (bytes: Buffer) => Verdict;
}
type Verdict = ReturnType<typeof exampleVerdict>;

/** Returns the parts of a signed request: its body, its digest, and the values of its headers except unsigned delivery ids. */
const signedParts = (example: Example): readonly Part[] => {
  const { headers, body, digest = '' } = example;
  const replaceHeaders = (change: (value: string, index: number) => string): Verdict =>
    exampleVerdict({
      ...example,
      headers: headers.map(([name, value], index): HeaderPair => [name, change(value, index)]),
    });
  const encoding = digestEncoding(digest);
  const values = headers.map(([name, value], index) => ({ name, value, index }));
  return [
    { bytes: Buffer.from(body), replace: (bytes) => exampleVerdict(example, { request: { body: bytes } }) },
    {
      bytes: Buffer.from(digest, encoding),
      replace: (bytes) => replaceHeaders((value) => value.replace(digest, bytes.toString(encoding))),
    },
    ...values
      .filter(({ name }) => !/delivery|event-id/i.test(name))
      .map(({ value, index }) => ({
        bytes: Buffer.from(value, 'latin1'),
        replace: (bytes: Buffer) => replaceHeaders((other, at) => (at === index ? bytes.toString('latin1') : other)),
      })),
  ];
};

// Each flipped bit results in another request, which the sender did not sign. The headers contain the timestamp and the id.
test.each(SIGNED)(`${MUTATIONS} one-bit mutations of the request of %s are refused`, (_, example) => {
  const parts = signedParts(example);
  for (const { bytes, replace } of parts) expect(replace(bytes)).toEqual(exampleVerdict(example));
  expect(typeof exampleVerdict(example)).toBe('object');
  const bits = fc.nat(parts.length - 1).chain((index) => {
    const part = parts[index] as Part;
    return fc.tuple(fc.constant(part), fc.nat(part.bytes.length * 8 - 1));
  });
  const isRefused = ([{ bytes, replace }, bit]: [Part, number]): boolean =>
    typeof replace(flipBit(bytes, bit)) === 'string';
  fc.assert(fc.property(bits, isRefused), { numRuns: MUTATIONS, seed: 18 });
});

test.each(['GitHub', 'Stripe', 'HmacBase64'] as const)(
  'the request of %s is refused with each other bit of the secret',
  (name) => {
    const example: Example = EXAMPLES[name];
    const secret = Buffer.from(example.secret);
    for (let bit = 0; bit < secret.length * 8; bit += 1)
      expect(exampleVerdict(example, { secrets: [flipBit(secret, bit)] })).toBe('mismatch');
  },
);
