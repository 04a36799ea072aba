import { hash } from 'node:crypto';

/** A percent has at most four decimals, so a draw is one of a million numbers. */
const NUMBERS = 1_000_000;

/**
 * Returns the number that a key draws: from 0 to 99.9999, with at most four decimals. Only the seed and the key determine it, so it is the
 * same in all processes and versions. All numbers are equally likely.
 */
export const drawnNumber = (seed: string, key: string): number => {
  const digits = hash('sha256', JSON.stringify([seed, key]), 'hex');
  const fraction = Number.parseInt(digits.slice(0, 8), 16) / 2 ** 32;
  return Math.floor(fraction * NUMBERS) / (NUMBERS / 100);
};
