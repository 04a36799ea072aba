import process from 'node:process';
import { addCompletionCommand } from './completion/completion-command.ts';
import { addDevCommand } from './dev/dev-command.ts';
import { runProgram } from './run-program.ts';
import { stdout, wantsColour } from './terminal.ts';

await runProgram({
  name: 'standin',
  colour: wantsColour(stdout, process.env),
  addMore: (program, colour) => {
    addDevCommand(program, colour);
    addCompletionCommand(program);
  },
});
