#!/usr/bin/env node
// Plain JavaScript, because every Node version must be able to run it at least far enough to print the required version.
import process from 'node:process';

const OLDEST = [22, 19];

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(
    `kubectl standin needs Node.js ${OLDEST.join('.')} or newer; ${process.execPath} is ${process.versions.node}.\n`,
  );
  process.exit(1);
}
const { runPlugin } = await import('./lib/main.js');
await runPlugin();
