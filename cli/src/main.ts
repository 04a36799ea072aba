import process from 'node:process';
import { addDevCommand } from './dev/dev-command.ts';
import { wantsColour } from './logs/format-entry.ts';
import { runProgram } from './run-program.ts';

await runProgram({ name: 'standin', colour: wantsColour(process.stdout, process.env), addMore: addDevCommand });
