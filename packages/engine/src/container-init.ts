import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';

/**
 * The entry point of the image. Runs `main.ts` as a child process, because the kernel ignores a SIGKILL that the first process of
 * a container sends to itself, and the engine has no other way to exit while a statement is running.
 */
const child = spawn(process.execPath, [path.join(import.meta.dirname, 'main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
  // Runs in a separate process group, so that Ctrl+C in a terminal reaches the child only once, through this process.
  detached: true,
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal));
child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
