import { PlainError } from './plain-error.ts';
import { ask } from './terminal.ts';

/**
 * Asks at the terminal; true for yes. Rejects with a `PlainError` where there is none.
 *
 * @param otherwise what to do without a terminal: the message of that error
 */
export const isConfirmed = async (question: string, otherwise: string): Promise<boolean> => {
  const answer = await ask(`${question} [y/N]`);
  if (answer === undefined) throw new PlainError(otherwise);
  return /^y(es)?$/i.test(answer);
};
