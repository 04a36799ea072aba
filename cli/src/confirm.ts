import { PlainError } from './plain-error.ts';
import { ask } from './terminal.ts';

/**
 * Asks at the terminal; true for yes. Rejects with a `PlainError` if there is no terminal.
 *
 * @param otherwise the message of that error: what to do without a terminal
 */
export const isConfirmed = async (question: string, otherwise: string): Promise<boolean> => {
  const answer = await ask(`${question} [y/N]`);
  if (answer === undefined) throw new PlainError(otherwise);
  return /^y(es)?$/i.test(answer);
};
