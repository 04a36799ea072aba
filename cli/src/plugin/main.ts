import process from 'node:process';
import { runProgram } from '../run-program.ts';
import { stdout, wantsColour } from '../terminal.ts';

/** `kubectl standin`: everything but `dev`, which needs the checkout: its ClickHouse and the dashboard's build. */
await runProgram({ name: 'kubectl standin', colour: wantsColour(stdout, process.env) });
