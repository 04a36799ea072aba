import { InvalidArgumentError } from 'commander';

/**
 * Returns the parser of an option that is a whole number from `min` to `max`, in digits. `Number` alone would read an empty text
 * as 0.
 */
export const wholeNumber =
  (min: number, max: number, message = `must be a number from ${min} to ${max}.`) =>
  (text: string): number => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (Number.isNaN(value) || value < min || value > max) throw new InvalidArgumentError(message);
    return value;
  };

/** Parses a TCP port. 0 selects a free port. */
export const portArgument = wholeNumber(0, 65_535, 'must be a port: 0 to 65535.');
