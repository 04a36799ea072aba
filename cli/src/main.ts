import process from 'node:process';
import { Command } from 'commander';
import { addDevCommand } from './dev/dev-command.ts';
import { wantsColour } from './logs/format-entry.ts';
import { addLogCommands } from './logs/log-commands.ts';
import { PlainError } from './plain-error.ts';
import { addValidateCommand } from './validate/validate-command.ts';

const program = new Command('standin')
  .description('HTTP endpoints that stand in for the real thing: mock or forward, and remember every request.')
  .showHelpAfterError('(standin --help lists the commands)')
  .enablePositionalOptions();

const colour = wantsColour(process.stdout, process.env);
addDevCommand(program, colour);
addLogCommands(program, colour);
addValidateCommand(program);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof PlainError)) throw error;
  console.error(`standin: ${error.message}`);
  process.exitCode = error.exitCode;
}
