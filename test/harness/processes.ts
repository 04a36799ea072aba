import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from './eventually.ts';

export interface ProcessOptions {
  /** The name in messages and log tails: `operator`, `gateway-2`. */
  readonly name: string;
  /** The file to run, relative to the checkout: `operator/src/main.ts`. */
  readonly main: string;
  readonly args?: readonly string[];
  /** Environment variables. The test's own variables are passed on, except NODE_ENV, STANDIN_… and VITEST… variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Flags for Node itself, such as `--max-old-space-size=256`. */
  readonly nodeArgs?: readonly string[];
}

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The flags with which the chart starts operators and gateways. Without them, V8 keeps up to 130 MiB for new objects. */
export const CHART_NODE_ARGS: readonly string[] = ['--max-semi-space-size=16'];

const ROOT = path.join(import.meta.dirname, '../..');
const END_WITH_PARENT = path.join(import.meta.dirname, 'end-with-parent.js');
const LOG_LINES_MAX = 5_000;
const WAIT_TIMEOUT_MS = 20_000;
const KILL_TIMEOUT_MS = 15_000;
const TAIL_LINES_SHOWN = 60;

/** A Standin process that a test controls. It ends with the test file at the latest. */
export class RunningProcess {
  readonly name: string;
  readonly #options: ProcessOptions;
  /** The last 5,000 lines of the process's standard output and error, across restarts. */
  #lines: string[] = [];
  /** The index of the first line since the last start. */
  #firstLine = 0;
  #child: ChildProcess;
  #closed: Promise<unknown> = Promise.resolve();

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.#options = options;
    this.#child = this.#spawn();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined;
  }

  /** Returns the last lines of the process's output, across restarts. */
  logTail(count = TAIL_LINES_SHOWN): readonly string[] {
    return this.#lines.slice(-count);
  }

  /** Returns the process's output since the last start. */
  log(): readonly string[] {
    return this.#lines.slice(this.#firstLine);
  }

  /**
   * Resolves with the first matching line since the last start, past or future. Rejects if the process ends first, or at the
   * timeout, which is 20 s by default.
   */
  waitForLine(what: string, matches: (line: string) => boolean, timeoutMs?: number): Promise<string> {
    return this.#waitFor(what, () => this.log().find(matches), timeoutMs);
  }

  /** Works like `waitForLine`, but for JSON lines, such as pino's records and the CLI's events. */
  waitForEvent(
    what: string,
    matches: (event: Record<string, unknown>) => boolean,
    timeoutMs?: number,
  ): Promise<Record<string, unknown>> {
    return this.#waitFor(what, () => this.log().flatMap(parseEvent).find(matches), timeoutMs);
  }

  /** Waits until the URL responds with status 200. Rejects if the process ends first. */
  async waitForUrl(url: string, timeoutMs?: number): Promise<void> {
    await this.#waitFor(`200 from ${url}`, () => respondsOk(url), timeoutMs);
  }

  /** Sends a signal, such as SIGSTOP, and does not wait. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends a signal and waits until the process has ended. A process that has not ended after 15 s is killed with SIGKILL. */
  async kill(signal: NodeJS.Signals = 'SIGTERM'): Promise<ProcessExit> {
    const child = this.#child;
    if (!this.hasEnded) child.kill(signal);
    // Of the signals that end a process, only SIGKILL affects a stopped one (SIGSTOP).
    const timer = setTimeout(() => child.kill('SIGKILL'), KILL_TIMEOUT_MS);
    return this.ended().finally(() => clearTimeout(timer));
  }

  /** Waits until the process has ended, by itself or by a signal, and all its output has arrived. */
  async ended(): Promise<ProcessExit> {
    const child = this.#child;
    await this.#closed;
    return { code: child.exitCode, signal: child.signalCode };
  }

  /**
   * Starts the process again, with the same settings and `moreEnv`. If it is still running, kills it first. SIGKILL simulates a
   * crash.
   */
  async restart(moreEnv: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.kill('SIGKILL');
    this.#firstLine = this.#lines.length;
    this.#child = this.#spawn(moreEnv);
  }

  async #waitFor<T>(what: string, probe: () => T | Promise<T>, timeoutMs = WAIT_TIMEOUT_MS): Promise<NonNullable<T>> {
    const ask = async () => (this.hasEnded ? { ended: true } : { ended: false, value: await probe() });
    const accept = (answer: { ended: boolean; value?: T }): boolean => answer.ended || Boolean(answer.value);
    const answer = await eventually(`${this.name}: ${what}`, ask, { accept, timeoutMs }).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.logTail().join('\n')}`, { cause: error });
    });
    // Probes once more, because the output just before the end counts.
    const value = answer.ended ? await Promise.resolve(probe()).catch(() => undefined) : answer.value;
    if (value !== undefined && value !== null) return value;
    const { exitCode, signalCode } = this.#child;
    const end = exitCode ?? signalCode ?? 'not started';
    throw new Error(`${this.name} ended (${end}) before: ${what}\n${this.logTail().join('\n')}`);
  }

  #spawn(moreEnv: Readonly<Record<string, string>> = {}): ChildProcess {
    const { main, args = [], env = {}, nodeArgs = [] } = this.#options;
    const inherited = Object.entries(process.env).filter(
      ([name]) => !name.startsWith('STANDIN_') && !name.startsWith('VITEST') && name !== 'NODE_ENV',
    );
    const child = spawn(process.execPath, [...nodeArgs, '--import', END_WITH_PARENT, main, ...args], {
      cwd: ROOT,
      env: { ...Object.fromEntries(inherited), ...env, ...moreEnv },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    child.on('error', (error) => this.#record(String(error)));
    this.#closed = new Promise((resolve) => child.once('close', resolve));
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => this.#record(line));
    }
    return child;
  }

  #record(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length <= LOG_LINES_MAX) return;
    this.#lines.shift();
    this.#firstLine = Math.max(0, this.#firstLine - 1);
  }
}

const started = new Set<RunningProcess>();

/** Starts a Standin process. Does not wait until it is ready. */
export const startProcess = (options: ProcessOptions): RunningProcess => {
  const running = new RunningProcess(options);
  started.add(running);
  return running;
};

/** Kills all remaining processes. The harness calls this function after each test file. */
export const killAllProcesses = async (): Promise<void> => {
  const all = [...started];
  started.clear();
  await Promise.all(all.map((running) => running.kill('SIGKILL')));
};

/** Returns the last lines of each process, for the report of a failed test. */
export const describeProcesses = (): string =>
  [...started].map((running) => `── ${running.name} ──\n${running.logTail().join('\n')}`).join('\n');

const parseEvent = (line: string): Record<string, unknown>[] => {
  if (!line.startsWith('{')) return [];
  try {
    return [JSON.parse(line) as Record<string, unknown>];
  } catch {
    return [];
  }
};

const respondsOk = async (url: string): Promise<true | undefined> => {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  await response.body?.cancel();
  return response.status === 200 ? true : undefined;
};
