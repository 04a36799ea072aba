import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';

/**
 * What the image starts: `main.ts` in a child. The kernel spares the first process of a container from its own SIGKILL, which is the only
 * end that the engine takes while a statement runs.
 */
const child = spawn(process.execPath, [path.join(import.meta.dirname, 'main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
  // A group of its own: Ctrl+C in a terminal reaches it once, through us.
  detached: true,
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal));
child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
