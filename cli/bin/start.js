// `npm start`: installs missing packages, then runs `standin dev`.
import process from 'node:process';
import { ensureInstalled } from './ensure-installed.js';
import { runMain } from './run-main.js';

await ensureInstalled('start');
await runMain(['dev', ...process.argv.slice(2)]);
