import { FairQueue } from '@standin/contract';
import { Piscina } from 'piscina';
import type { Pools } from '../pools.ts';
import * as tasks from './tasks.ts';
import { WorkRefused, type WorkRefusal } from './work-refused.ts';
import type { TaskName, Tasks, Work } from './worker.ts';

type Result<N extends TaskName> = Awaited<ReturnType<Tasks[N]>>;

/** Threads that process captured bytes, which would otherwise delay all other requests. */
export interface WorkerPool {
  /**
   * Returns the workers for the calls of one holder. Each holder has a share of the threads and of the waiting calls. `findHolder` is
   * only called for work that needs a thread.
   */
  for(findHolder: () => string | Promise<string>): Workers;
  close(): Promise<void>;
}

/** The workers as one holder uses them. */
export interface Workers {
  /**
   * Calls a function of `tasks.ts` in a worker, or in this thread if the captured part of its input is short (see `capturedParts`).
   * Transfers long buffers to the worker, so they are empty afterwards. Rejects with `WorkRefused`, or with the error that the
   * function throws.
   */
  run<N extends TaskName>(
    name: N,
    input: Parameters<Tasks[N]>[0],
    captured: readonly (Uint8Array | string)[],
  ): Promise<Result<N>>;
}

export interface WorkersOptions {
  /** Maximum duration of one call, in milliseconds. A worker that takes longer is terminated. */
  readonly deadlineMs?: number;
  /** Maximum time that a call waits for its turn, and then for a worker to start, in milliseconds. */
  readonly waitMs?: number;
  /** Maximum number of calls that need a thread, including waiting ones. */
  readonly callsMax?: number;
  /** Maximum number of captured bytes to process in this thread. Transferring so few bytes to a worker would take longer. */
  readonly inlineBytesMax?: number;
  readonly pools?: Pools;
}

/** A user is waiting for the result. Each function takes a few seconds of CPU time at most, even for the largest bodies. */
const DEADLINE_MS = 20_000;
/** Includes starting a worker on a busy machine. */
const WAIT_MS = 20_000;
/** Each call holds bodies of up to 20 MiB, also while it waits. One holder can have half of the calls. */
const CALLS_MAX = 8;
/** The slowest function processes this many bytes in less than 20 ms. */
const INLINE_BYTES_MAX = 8 * 1024;
/** One holder has one of them, so that slow bodies do not block all others. More threads would take CPU time from everything else. */
const THREADS_MAX = 2;
/**
 * The limit does not include the bodies themselves. Every function uses less than a third of it for the largest bodies. A single
 * allocation over the limit terminates not only the worker but the process.
 */
const HEAP_MIB_MAX = 192;
/** Idle workers are kept for this long, because starting one takes 250 ms, and an idle worker uses tens of megabytes. */
const IDLE_MS = 60_000;

/** Starts workers on demand and stops idle ones. */
export const startWorkers = (options: WorkersOptions = {}): WorkerPool => {
  const {
    callsMax = CALLS_MAX,
    inlineBytesMax = INLINE_BYTES_MAX,
    waitMs = WAIT_MS,
    deadlineMs = DEADLINE_MS,
    pools,
  } = options;
  const refusal = () => new WorkRefused('Busy');
  const queue = new FairQueue({ runningMax: THREADS_MAX, callsMax, waitMs, refusal });
  pools?.set('worker_threads', queue.running).set('worker_calls', queue.calls);
  const pool = new Piscina({
    filename: new URL('./worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: THREADS_MAX,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
    recordTiming: false,
  });
  return {
    for: (findHolder) => ({
      run: async <N extends TaskName>(
        name: N,
        input: Parameters<Tasks[N]>[0],
        captured: readonly (Uint8Array | string)[],
      ): Promise<Result<N>> => {
        const bytes = captured.reduce((sum, { length }) => sum + length, 0);
        const work = tasks[name] as (given: typeof input) => Result<N> | Promise<Result<N>>;
        if (bytes <= inlineBytesMax) return work(input);
        const limits = { waitMs, deadlineMs };
        const inThread = () => perform(pool, { name, input }, captured, limits) as Promise<Result<N>>;
        return queue.run(await findHolder(), inThread);
      },
    }),
    close: () => pool.destroy(),
  };
};

const perform = async (
  pool: Piscina,
  work: Omit<Work, 'started'>,
  captured: readonly (Uint8Array | string)[],
  { waitMs, deadlineMs }: Required<Pick<WorkersOptions, 'waitMs' | 'deadlineMs'>>,
): Promise<unknown> => {
  const started = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const stop = new AbortController();
  let late: WorkRefusal = 'Busy';
  let isOver = false;
  let timer = setTimeout(() => stop.abort(), waitMs);
  const begin = Atomics.waitAsync(started, 0, 0);
  if (begin.async)
    void begin.value.then(() => {
      clearTimeout(timer);
      if (isOver) return;
      late = 'TooSlow';
      timer = setTimeout(() => stop.abort(), deadlineMs);
    });
  try {
    const transferList = transferable(captured);
    return await pool.run({ ...work, started }, { name: 'perform', signal: stop.signal, transferList });
  } catch (error) {
    throw toRefusal(error, late);
  } finally {
    isOver = true;
    clearTimeout(timer);
    // Ends `waitAsync` if no worker has begun the work.
    Atomics.notify(started, 0);
  }
};

/** Returns the buffers to transfer. Short buffers are copied, because they are parts of a shared pool. */
const transferable = (captured: readonly (Uint8Array | string)[]): ArrayBuffer[] => [
  ...new Set(
    captured
      .map((part) => (typeof part === 'string' ? undefined : part.buffer))
      .filter((buffer): buffer is ArrayBuffer => buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize),
  ),
];

const toRefusal = (error: unknown, late: WorkRefusal): unknown => {
  if (!(error instanceof Error)) return error;
  if (error.name === 'AbortError') return new WorkRefused(late, { cause: error });
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY')
    return new WorkRefused('TooLarge', { cause: error });
  return error;
};
