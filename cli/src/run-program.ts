import process from 'node:process';
import { inspect } from 'node:util';
import { createProgram, type ProgramOptions } from './create-program.ts';
import { asPlainError } from './plain-error.ts';
import { stderr, stdout } from './terminal.ts';

/** Runs the command line to completion. */
export const runProgram = async (options: ProgramOptions): Promise<void> => {
  // The output is closed, as by `standin logs | head`, or cannot be written because the disk is full.
  stdout.onError((error) => {
    if (error.code === 'EPIPE') process.exit(0);
    stderr.line(`standin: the output cannot be written (${error.code ?? error.message})`);
    process.exit(1);
  });
  // Prints the error as Node does, but in printable form, because the message may contain untrusted text.
  process.on('uncaughtException', (error) => {
    stderr.lines(inspect(error));
    process.exit(1);
  });
  const program = createProgram(options);
  try {
    await program.parseAsync();
  } catch (error) {
    const plain = asPlainError(error);
    if (plain === undefined) throw error;
    stderr.line(`standin: ${plain.message}`);
    process.exitCode = plain.exitCode;
  }
};
