import process from 'node:process';
import { runProgram } from '../src/run-program.ts';
import { stdout, wantsColour } from '../src/terminal.ts';

/**
 * `kubectl standin`: every command except `dev`, which needs the checkout for its ClickHouse and the dashboard's build. It is a
 * function because the bundle's other files import this one. With a top-level await, they could not load until the command ends.
 */
export const runPlugin = (): Promise<void> =>
  runProgram({ name: 'kubectl standin', colour: wantsColour(stdout, process.env) });
