import { Piscina } from 'piscina';
import * as tasks from './tasks.ts';
import { WorkRefused, type WorkRefusal } from './work-refused.ts';
import type { TaskName, Tasks, Work } from './worker.ts';

type Result<N extends TaskName> = Awaited<ReturnType<Tasks[N]>>;

/** Processes captured bytes that would otherwise delay all other requests. */
export interface Workers {
  /**
   * Calls a function of `tasks.ts` in a worker, or in this thread if the captured part of its input is short (see `capturedOf`). Bytes are
   * transferred to the worker and are empty afterwards. Rejects with `WorkRefused`, or with what the function throws.
   */
  run<N extends TaskName>(
    name: N,
    input: Parameters<Tasks[N]>[0],
    captured: readonly (Uint8Array | string)[],
  ): Promise<Result<N>>;
  close(): Promise<void>;
}

export interface WorkersOptions {
  /** A worker that takes longer for one call is ended, in milliseconds. */
  readonly deadlineMs?: number;
  /** How long a call waits for a worker, in milliseconds. */
  readonly waitMs?: number;
  /** Maximum number of waiting calls. */
  readonly queueMax?: number;
  /** At most this many captured bytes are processed in this thread, because their transfer takes longer. */
  readonly inlineBytesMax?: number;
}

/** A user waits for the result. Each function takes at most a few seconds of processor time for the largest bodies. */
const DEADLINE_MS = 20_000;
/** Includes the start of a worker on a busy machine. */
const WAIT_MS = 20_000;
/** Each waiting call holds bodies of up to 20 MiB. */
const QUEUE_MAX = 4;
/** The slowest function processes this many in less than 20 ms. */
const INLINE_BYTES_MAX = 8 * 1024;
/** One slow body must not stop all others. More threads would take the processor from everything else. */
const THREADS_MAX = 2;
/**
 * Excludes bytes. Every function uses less than a third of it for the largest bodies. Memory that exceeds the limit in one step ends not only the
 * worker but the process.
 */
const HEAP_MIB_MAX = 192;
/** A worker takes a quarter of a second to start, and uses tens of megabytes. */
const IDLE_MS = 60_000;

/** Starts workers when they are needed, and ends idle ones. */
export const startWorkers = (options: WorkersOptions = {}): Workers => {
  const { queueMax = QUEUE_MAX, inlineBytesMax = INLINE_BYTES_MAX } = options;
  const pool = new Piscina({
    filename: new URL('./worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: THREADS_MAX,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
    recordTiming: false,
  });
  return {
    run: async <N extends TaskName>(
      name: N,
      input: Parameters<Tasks[N]>[0],
      captured: readonly (Uint8Array | string)[],
    ): Promise<Result<N>> => {
      const bytes = captured.reduce((sum, { length }) => sum + length, 0);
      const work = tasks[name] as (given: typeof input) => Result<N> | Promise<Result<N>>;
      if (bytes <= inlineBytesMax) return work(input);
      // Piscina's own limit does not count calls that can be aborted.
      if (pool.queueSize >= queueMax) throw new WorkRefused('Busy');
      return (await perform(pool, { name, input }, captured, options)) as Result<N>;
    },
    close: () => pool.destroy(),
  };
};

const perform = async (
  pool: Piscina,
  work: Omit<Work, 'started'>,
  captured: readonly (Uint8Array | string)[],
  { deadlineMs = DEADLINE_MS, waitMs = WAIT_MS }: WorkersOptions,
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
    // Ends the wait if no worker has begun the work.
    Atomics.notify(started, 0);
  }
};

/** Short buffers are parts of a shared pool. */
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
