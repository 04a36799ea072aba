import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { availableParallelism, constants, cpus, release, setPriority, totalmem } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Returns a line that describes the machine. */
export const describeMachine = (): string =>
  `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ` +
  `Linux ${release()}, Node ${process.version}`;

/** Moves a process and all its threads to these cores. Linux only. */
export const pinToCore = async (pid: number, ...cores: readonly number[]): Promise<void> => {
  const pin = () => run('taskset', ['--all-tasks', '--cpu-list', '--pid', cores.join(','), String(pid)]);
  // taskset fails if a thread ends while it lists the threads.
  await pin().catch(pin);
};

/** Allows a process to run on every core again. */
export const unpin = (pid: number): Promise<void> => pinToCore(pid, ...cpus().keys());

/** Lowers the priority of the process's threads and of those that they start. */
export const lowerPriority = async (pid: number): Promise<void> => {
  const lower = async (): Promise<void> => {
    for (const thread of await readdir(`/proc/${pid}/task`))
      setPriority(Number(thread), constants.priority.PRIORITY_BELOW_NORMAL);
  };
  // Fails if a thread ends while the threads are listed.
  await lower().catch(lower);
};

/** The number of clock ticks per second. Times in /proc are in clock ticks (`getconf CLK_TCK`). */
const TICKS_PER_SECOND = 100;

/** Returns the CPU seconds of all threads of the process so far, user and system. */
export const cpuSeconds = async (pid: number): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // proc_pid_stat(5): utime and stime are fields 14 and 15. The name, field 2, may contain any characters.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
};

/** Returns the seconds so far in which this core was busy. */
export const coreBusySeconds = async (core: number): Promise<number> => {
  const stat = await readFile('/proc/stat', 'utf8');
  const times = new RegExp(`^cpu${core} (.*)$`, 'm').exec(stat)?.[1]?.split(' ').map(Number) ?? [];
  const [user = 0, nice = 0, system = 0, , , hardwareInterrupts = 0, softwareInterrupts = 0, stolen = 0] = times;
  return (user + nice + system + hardwareInterrupts + softwareInterrupts + stolen) / TICKS_PER_SECOND;
};

const statusMiB = async (pid: number, field: string): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024;
};

/** Returns the resident memory of a process in MiB. */
export const residentMiB = (pid: number): Promise<number> => statusMiB(pid, 'VmRSS');

/** Returns the peak resident memory since the process started, in MiB. */
export const peakResidentMiB = (pid: number): Promise<number> => statusMiB(pid, 'VmHWM');

/** Returns the value below which this fraction of the values lies. */
export const percentile = (values: readonly number[], part: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
};

/** A measurement and its target, as a row of a table. */
export interface Measurement {
  readonly what: string;
  readonly measured: string;
  readonly target: string;
  readonly met: boolean;
}

/** Prints rows with equal keys as a plain text table. */
export const printTable = (rows: readonly Readonly<Record<string, string | number>>[]): void => {
  const columns = Object.keys(rows[0] ?? {});
  const width = (column: string) => Math.max(column.length, ...rows.map((row) => String(row[column]).length));
  const line = (cell: (column: string) => string) =>
    columns
      .map((column) => cell(column).padEnd(width(column)))
      .join('  ')
      .trimEnd();
  console.log(line((column) => column));
  console.log(line((column) => '-'.repeat(width(column))));
  for (const row of rows) console.log(line((column) => String(row[column])));
};

export const printMeasurements = (measurements: readonly Measurement[]): void => {
  printTable(
    measurements.map(({ what, measured, target, met }) => ({ what, measured, target, '': met ? 'met' : 'MISSED' })),
  );
};

export const median = (values: readonly number[]): number => percentile(values, 0.5);
