import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonPieces } from './json-pieces.ts';

const LONG = 200_000;
const whole = (value: unknown, indent?: number): string => [...jsonPieces(value, indent)].join('');

describe('jsonPieces', () => {
  it.each([
    ['text', 'a'.repeat(LONG)],
    ['escaped characters', '\0"\\\n\u2028'.repeat(LONG / 5)],
    ['surrogate pairs at even and odd positions', `a${'😀'.repeat(LONG / 2)}`],
    ['unpaired surrogates', '\uD800'.repeat(LONG)],
    ['text that looks like JSON', '"},{"'.repeat(LONG / 5)],
  ])('returns the same text as JSON.stringify for %s', (_, body) => {
    const value = {
      request: { body, id: 1 },
      response: { body: `x${body}` },
      list: [body, null, 'short'],
      none: undefined,
    };
    expect(whole(value)).toBe(JSON.stringify(value));
    expect(whole(value, 2)).toBe(JSON.stringify(value, null, 2));
  });

  it('returns the same text as JSON.stringify for any value', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => whole(value) === JSON.stringify(value)));
  });

  it('returns only short pieces, and a single piece for a short value', () => {
    const pieces = [...jsonPieces({ body: '\0'.repeat(1_000_000) })];
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(6 * 64 * 1024);
    expect([...jsonPieces({ body: 'short' })]).toHaveLength(1);
  });
});
