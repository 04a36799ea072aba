import type { ServerResponse } from 'node:http';
import { Holding, SharedPool } from '@standin/contract';
import type { Pools } from './pools.ts';

/**
 * Maximum total size of what clients have not received yet. A client may receive a response as slowly as it likes, so nothing that is
 * counted by places, such as the reading of a long list, may wait for it.
 */
const UNRECEIVED_BYTES_MAX = 64 * 1024 * 1024;

/** Writes a part of a response. Returns false, and writes nothing, if the holder's share of the memory is used up. */
export type CountedWrite = (part: string | Uint8Array) => boolean;

/** Returns the function that writes a response to a holder (`holders.ts`). */
export type UnreceivedBytes = (response: ServerResponse, holder: string) => CountedWrite;

/** Counts what clients have not received yet. Each holder has a share of the memory. */
export const unreceivedBytes = ({
  bytesMax = UNRECEIVED_BYTES_MAX,
  pools,
}: { readonly bytesMax?: number; readonly pools?: Pools } = {}): UnreceivedBytes => {
  const unreceived = new SharedPool(bytesMax);
  pools?.set('unreceived_bytes', unreceived);
  return (response, holder) => {
    const memory = new Holding(unreceived, holder);
    const free = (): void => memory[Symbol.dispose]();
    response.on('drain', free).once('close', free);
    return (part) => {
      const partBytes = Buffer.byteLength(part);
      // Node keeps up to 64 KiB for each response. Small responses need no share, so that slow clients cannot prevent them.
      const isSmall = response.writableLength + partBytes < response.writableHighWaterMark;
      if (response.destroyed) return true;
      if (!isSmall && !memory.take(partBytes)) return false;
      if (response.write(part)) free();
      return true;
    };
  };
};
