import { addCompletionCommand } from './completion/completion-command.ts';
import type { ProgramOptions } from './create-program.ts';
import { addDevCommand } from './dev/dev-command.ts';

/** The commands that `standin` has and `kubectl standin` does not. */
export const LOCAL_COMMANDS: Pick<ProgramOptions, 'addDev' | 'addCompletion'> = {
  addDev: addDevCommand,
  addCompletion: addCompletionCommand,
};
