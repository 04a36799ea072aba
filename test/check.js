// `npm run check`: the part of `npm test` that needs no servers. This file is JavaScript for the same reason as run.js.
import { ensureInstalled } from '../cli/bin/ensure-installed.js';
import { runWithNode24 } from './suite/run-with-node-24.js';

await ensureInstalled();
runWithNode24('test/suite/check.ts');
