import process from 'node:process';
import { addCompleteCommand } from '../src/completion/completion-command.ts';
import { runProgram } from '../src/run-program.ts';
import { stdout, wantsColour } from '../src/terminal.ts';

/**
 * Runs `kubectl standin`, which has every command except `dev`. `dev` needs a checkout of the repository, for its ClickHouse and
 * for the dashboard's build. This is a function because the bundle's other files import this one. With a top-level await, they
 * could not load until the command ends.
 */
export const runPlugin = (): Promise<void> =>
  runProgram({
    name: 'kubectl standin',
    colour: wantsColour(stdout, process.env),
    usesCluster: true,
    addCompletion: addCompleteCommand,
  });
