// `npm test`. This file is JavaScript because it runs on the system's Node, which may not run TypeScript, and before npm packages
// are installed. It starts Node 24.
import { ensureInstalled } from '../cli/bin/ensure-installed.js';
import { runWithNode24 } from './suite/run-with-node-24.js';

await ensureInstalled();
runWithNode24('test/suite/run.ts');
