#!/usr/bin/env node
// Runs src/main.ts with a Node that can: this one, or the dev dependency `node` where the system's is older.
import { spawn } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { nodePath, root } from './ensure-installed.js';

const main = path.join(root, 'cli/src/main.ts');
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 19)) await import(main);
else {
  const child = spawn(nodePath(), [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 130)));
}
