import type { Command } from 'commander';
import { addCompletionCommand } from './completion/completion-command.ts';
import { addDevCommand } from './dev/dev-command.ts';

/** Adds the commands that `standin` has and `kubectl standin` does not. */
export const addLocalCommands = (program: Command, colour: boolean): void => {
  addDevCommand(program, colour);
  addCompletionCommand(program);
};
