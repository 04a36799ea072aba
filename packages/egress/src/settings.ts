import process from 'node:process';

/** The number of threads for the files and name lookups of this process. libuv reads this variable too, and has the same default. */
export const POOL_THREADS = Number(process.env['UV_THREADPOOL_SIZE']) || 4;
