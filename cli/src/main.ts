import process from 'node:process';
import { LOCAL_COMMANDS } from './local-commands.ts';
import { runProgram } from './run-program.ts';
import { stdout, wantsColour } from './terminal.ts';

await runProgram({ name: 'standin', colour: wantsColour(stdout, process.env), ...LOCAL_COMMANDS });
