import { open } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { SharedPool } from '@standin/contract';
import { NAMESPACE_END_MAX, namespaceAt } from '@standin/logstore';
import { decodeHeader, FRAME_HEAD_BYTES, HEADER_BYTES } from './segment-format.ts';

/** The holder of what belongs to no namespace, such as headers and damaged records. */
const UNATTRIBUTED = '';
/** Smaller parts of a segment are not attributed when the segment is complete. This bounds the memory for each segment. */
const PARTS_MAX = 128;
const BLOCK_BYTES = 256 * 1024;
/** After each block, because commits and deliveries need the same disk. Reads at most 50 MiB a second. */
const READ_PAUSE_MS = 5;
/** Every frame is longer, and its namespace is within these bytes. */
const FRAME_START_BYTES = FRAME_HEAD_BYTES + NAMESPACE_END_MAX;

/** What a segment takes of the disk, by namespace. Counted in the pool as long as the segment exists. */
export class SegmentShares {
  readonly #pool: SharedPool;
  readonly #shares = new Map<string, number>();
  #bytes = 0;

  /** @param bytes of the segment, which belong to no namespace yet */
  constructor(pool: SharedPool, bytes: number) {
    this.#pool = pool;
    this.#add(UNATTRIBUTED, bytes);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds whole frames that were appended to the segment. */
  addFrames(frames: Buffer): void {
    walkFrames(frames, frames.readUInt32LE(0), (namespace, bytes) => this.#add(namespace, bytes));
  }

  /** The segment is complete. */
  complete(): void {
    for (const [namespace, bytes] of this.#shares)
      if (namespace !== UNATTRIBUTED && bytes * PARTS_MAX < this.#bytes) {
        this.#add(namespace, -bytes);
        this.#shares.delete(namespace);
        this.#add(UNATTRIBUTED, bytes);
      }
  }

  /** The segment is replaced by this one. */
  replace(segment: Buffer): void {
    this.free();
    this.#add(UNATTRIBUTED, HEADER_BYTES);
    this.addFrames(segment.subarray(HEADER_BYTES));
    this.complete();
  }

  /**
   * Finds out to which namespaces the bytes of a segment of an earlier process belong. Reads it in blocks, and not the rest of a long
   * record. Does not check the records.
   */
  async read(file: string): Promise<void> {
    const found = new Map<string, number>();
    const add = (namespace: string, bytes: number) => void found.set(namespace, (found.get(namespace) ?? 0) + bytes);
    const handle = await open(file);
    try {
      const block = Buffer.allocUnsafe(BLOCK_BYTES);
      const read = async (at: number): Promise<Buffer> =>
        block.subarray(0, (await handle.read(block, 0, block.length, at)).bytesRead);
      const header = decodeHeader(await read(0));
      for (let at = HEADER_BYTES; header !== undefined && at + FRAME_START_BYTES <= this.#bytes;) {
        const frames = await read(at);
        if (frames.length < FRAME_START_BYTES) break;
        at += walkFrames(frames, header.marker, add);
        await pause(READ_PAUSE_MS);
      }
    } finally {
      await handle.close();
    }
    // The segment may have been delivered in the meantime.
    for (const [namespace, bytes] of found) {
      const moved = Math.min(bytes, this.#shares.get(UNATTRIBUTED) ?? 0);
      this.#add(UNATTRIBUTED, -moved);
      this.#add(namespace, moved);
    }
    this.complete();
  }

  /** The segment is removed. */
  free(): void {
    for (const [namespace, bytes] of this.#shares) this.#pool.free(namespace, bytes);
    this.#shares.clear();
    this.#bytes = 0;
  }

  #add(namespace: string, bytes: number): void {
    this.#shares.set(namespace, (this.#shares.get(namespace) ?? 0) + bytes);
    this.#pool.add(namespace, bytes);
    this.#bytes += bytes;
  }
}

/**
 * Calls `add` for each namespace in the frames that begin in the block, for several frames in a row at a time. Returns the offset of the
 * first frame whose start is not in the block, which may be after the block's end.
 */
const walkFrames = (block: Buffer, marker: number, add: (namespace: string, bytes: number) => void): number => {
  let at = 0;
  let namespace = UNATTRIBUTED;
  let bytes = 0;
  while (at + FRAME_START_BYTES <= block.length) {
    if (block.readUInt32LE(at) !== marker) {
      at = nextMarker(block, at + 1, marker);
      continue;
    }
    const length = FRAME_HEAD_BYTES + block.readUInt32LE(at + 8);
    const next = namespaceAt(block, at + FRAME_HEAD_BYTES);
    if (next !== namespace) {
      if (bytes > 0) add(namespace, bytes);
      namespace = next;
      bytes = 0;
    }
    bytes += length;
    at += length;
  }
  if (bytes > 0) add(namespace, bytes);
  return at;
};

/** Returns the offset of the next frame after damage, or of the end of the block, of which a marker may have only its beginning. */
const nextMarker = (block: Buffer, from: number, marker: number): number => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(marker);
  const found = block.indexOf(bytes, from);
  return found < 0 ? block.length - bytes.length + 1 : found;
};
