import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** One line that says on what was measured. */
export const describeMachine = (): string =>
  `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ` +
  `Linux ${release()}, Node ${process.version}`;

/** Moves a process and all its threads to one core. Linux only. */
export const pinToCore = async (pid: number, core: number): Promise<void> => {
  await run('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)]);
};

export interface CpuTime {
  /** Seconds that the process's threads ran, user and system. */
  readonly ran: number;
  /** Seconds that they could have run but another had the core. */
  readonly waited: number;
}

/** So far, over all threads that still live. */
export const cpuTime = async (pid: number): Promise<CpuTime> => {
  const threads = await readdir(`/proc/${pid}/task`);
  const stats = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')));
  const sum = (field: number) => stats.reduce((total, text) => total + Number(text.split(' ')[field]), 0) / 1e9;
  return { ran: sum(0), waited: sum(1) };
};

const statusMiB = async (pid: number, field: string): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024;
};

/** Memory of a process that is in RAM, MiB. */
export const residentMiB = (pid: number): Promise<number> => statusMiB(pid, 'VmRSS');

/** The most of it since the process started, MiB. */
export const peakResidentMiB = (pid: number): Promise<number> => statusMiB(pid, 'VmHWM');

/** Value below which that part of the values lie. */
export const percentile = (values: readonly number[], part: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
};

/** A bar and what was measured, as a line of a table. */
export interface Measurement {
  readonly what: string;
  readonly measured: string;
  readonly bar: string;
  readonly met: boolean;
}

/** Rows of equal keys as a table of plain text. */
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
  printTable(measurements.map(({ what, measured, bar, met }) => ({ what, measured, bar, '': met ? 'met' : 'MISSED' })));
};
