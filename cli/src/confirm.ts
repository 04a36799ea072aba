import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { PlainError } from './plain-error.ts';

/**
 * Asks at the terminal; true for yes. Rejects with a `PlainError` where nobody can be asked.
 *
 * @param toDo what `--yes` does without asking, as in `send them`
 */
export const isConfirmed = async (question: string, toDo: string): Promise<boolean> => {
  if (!process.stdin.isTTY) throw new PlainError(`nobody can be asked here: add --yes to ${toDo}`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
};
