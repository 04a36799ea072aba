import process from 'node:process';
import { wantsColour } from '../logs/format-entry.ts';
import { runProgram } from '../run-program.ts';

/** `kubectl standin`: everything but `dev`, which needs the checkout: its ClickHouse and the dashboard's build. */
await runProgram({ name: 'kubectl standin', colour: wantsColour(process.stdout, process.env) });
