// `npm test`. Plain JavaScript: it runs on the system's Node before anything is installed, then starts Node 24.
import { ensureInstalled } from '../cli/bin/ensure-installed.js';
import { runWithNode24 } from './suite/run-with-node-24.js';

await ensureInstalled();
runWithNode24('test/suite/run.ts');
