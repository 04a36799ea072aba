import { spawn } from 'node:child_process';

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  /** The exit code, or 1 if a signal ended the command. */
  readonly code: number;
}

export interface CommandOptions {
  /** The text for stdin, which is closed after this text. */
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 60_000;

/**
 * Runs a command, waits until it exits, and collects its output. Kills it at the timeout, which is one minute by default. Rejects
 * only if the command cannot be started.
 */
export const runCommand = (
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      timeout: options.timeoutMs ?? TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (chunk: string) => (output[name] += chunk));
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...output, code: code ?? 1 }));
    // A command that ends without reading its input is not an error.
    child.stdin.on('error', () => undefined).end(options.input ?? '');
  });
