import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const ID_BYTES = 16;
/** The number of ids per call for random bytes. Such a call costs as much as parsing a request. */
const POOL_IDS = 1_024;

const pool = new Uint8Array(ID_BYTES * POOL_IDS);
let at = pool.length;

/** Returns a UUIDv7 for the given time in milliseconds since the epoch. Ids from the same millisecond have no order. */
export const rowId = (nowMs: number): string => {
  if (at === pool.length) {
    randomFillSync(pool);
    at = 0;
  }
  const random = pool.subarray(at, at + ID_BYTES);
  at += ID_BYTES;
  return uuidv7({ random, msecs: nowMs });
};
