import { readdir, readFile } from 'node:fs/promises';
import { cpuSeconds, peakResidentMiB, residentMiB } from './machine.ts';

/** Returns a process and its current descendants. */
export const processTree = async (pid: number): Promise<number[]> => {
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8')));
  const children = lists.flatMap((list) => list.split(' ').filter((text) => text.trim() !== ''));
  return [pid, ...(await Promise.all(children.map((child) => processTree(Number(child))))).flat()];
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const ofAll = async (pids: readonly number[], ask: (pid: number) => Promise<number>): Promise<number> =>
  sum(await Promise.all(pids.map(ask)));

/** Returns the CPU seconds of all processes so far. */
export const treeCpuSeconds = (pids: readonly number[]): Promise<number> => ofAll(pids, cpuSeconds);
/** Returns the sum of the processes' resident memory, as `ps` shows it. Memory that processes share counts once per process. */
export const treeResidentMiB = (pids: readonly number[]): Promise<number> => ofAll(pids, residentMiB);
/** Like `treeResidentMiB`, but with the peak of each process since its start. */
export const treePeakMiB = (pids: readonly number[]): Promise<number> => ofAll(pids, peakResidentMiB);

/**
 * Returns the memory of all processes, in which shared files count once. It is the sum of their private memory and of the resident
 * part of each mapped file (Node, ClickHouse).
 */
export const treeMemoryMiB = async (pids: readonly number[]): Promise<number> => {
  const files = new Map<string, number>();
  let anonymousKib = 0;
  for (const pid of pids) {
    const ofFiles = new Map<string, number>();
    let file = '';
    let residentKib = 0;
    // proc_pid_smaps(5): one line with the mapping's file, then one line per size.
    for (const line of (await readFile(`/proc/${pid}/smaps`, 'utf8')).split('\n')) {
      const mapping = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+ *(.*)$/.exec(line);
      if (mapping) file = mapping[1] ?? '';
      const [, size, kib] = /^(Rss|Anonymous): +(\d+) kB$/.exec(line) ?? [];
      if (size === 'Rss') residentKib = Number(kib);
      if (size !== 'Anonymous') continue;
      anonymousKib += Number(kib);
      ofFiles.set(file, (ofFiles.get(file) ?? 0) + residentKib - Number(kib));
    }
    for (const [name, kib] of ofFiles) files.set(name, Math.max(files.get(name) ?? 0, kib));
  }
  return (anonymousKib + sum([...files.values()])) / 1_024;
};
