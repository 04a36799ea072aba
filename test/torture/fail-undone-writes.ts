import fs, { existsSync, rmSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import process from 'node:process';

/**
 * This module is loaded into a gateway under test (`node --import`). If the file `TEST_WRITE_TRAP` exists, the process removes it,
 * and its next write of records reports an error although all bytes are in the file, which then cannot be truncated.
 */

type WriteArguments = readonly [
  fd: number,
  bytes: Uint8Array,
  offset: number,
  length: number,
  position: number,
  callback: (error: Error | null, bytesWritten: number) => void,
];

const trap = process.env['TEST_WRITE_TRAP'] ?? '';
const failure = (): Error => Object.assign(new Error('EIO: a failure of the test'), { code: 'EIO' });
let isTruncateBroken = false;

const write = fs.write as (...args: WriteArguments) => void;
const writeThenFail = (...[fd, bytes, offset, length, position, callback]: WriteArguments): void => {
  write(fd, bytes, offset, length, position, (error, bytesWritten) => {
    // The header of a segment is at position 0.
    const mustFail = error === null && position > 0 && existsSync(trap);
    if (mustFail) {
      rmSync(trap);
      isTruncateBroken = true;
    }
    callback(mustFail ? failure() : error, bytesWritten);
  });
};
Object.assign(fs, { write: writeThenFail });
syncBuiltinESMExports();

const handle = await open(process.execPath);
const prototype = Object.getPrototypeOf(handle) as FileHandle;
await handle.close();
const truncate: (this: FileHandle, bytes?: number) => Promise<void> = Reflect.get(prototype, 'truncate');
prototype.truncate = function (this: FileHandle, bytes?: number): Promise<void> {
  if (!isTruncateBroken) return truncate.call(this, bytes);
  isTruncateBroken = false;
  return Promise.reject(failure());
};
