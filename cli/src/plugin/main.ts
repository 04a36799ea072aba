import process from 'node:process';
import { runProgram } from '../run-program.ts';
import { stdout, wantsColour } from '../terminal.ts';

/**
 * `kubectl standin`: everything but `dev`, which needs the checkout: its ClickHouse and the dashboard's build. A function, as the bundle's
 * other files import this one: none of them could load while it waited, at its top level, for a command.
 */
export const runPlugin = (): Promise<void> =>
  runProgram({ name: 'kubectl standin', colour: wantsColour(stdout, process.env) });
