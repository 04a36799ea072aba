// This file is JavaScript because it runs with the system's Node, which may not run TypeScript.
import { spawn } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { nodePath, root } from '../../cli/bin/ensure-installed.js';

/** Runs a TypeScript file of the checkout with this process's arguments and exits with its exit code. */
export const runWithNode24 = (file) => {
  // Programs that the tests start also find Node 24 first.
  const env = { ...process.env, PATH: `${path.dirname(nodePath())}${path.delimiter}${process.env.PATH}` };
  const child = spawn(nodePath(), [path.join(root, file), ...process.argv.slice(2)], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  // Passes signals on, and keeps this process running until the child ends. Ctrl-C in a terminal also reaches the child directly.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code) => process.exit(code ?? 1));
};
