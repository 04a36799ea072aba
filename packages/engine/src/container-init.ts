import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';

/**
 * The entry point of the image: runs `main.ts` as a child. The kernel ignores a SIGKILL that the first process of a container
 * sends to itself, but the engine cannot end in another way while a statement runs.
 */
const child = spawn(process.execPath, [path.join(import.meta.dirname, 'main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
  // A separate process group: Ctrl+C in a terminal reaches the child once, through this process.
  detached: true,
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal));
child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
