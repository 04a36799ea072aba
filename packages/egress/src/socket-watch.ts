import type { Socket } from 'node:net';
import { LIMITS } from '@standin/contract';
import { tooManyLines } from './egress-error.ts';

const LF = 0x0a;
/**
 * Three times the limit for one head, because one read can contain the trailers of one response and the head of the next, as well
 * as the line breaks of chunks.
 */
const UNFINISHED_LINES_MAX = 3 * LIMITS.upstreamHeadLinesMax;
const NOTHING = new Uint8Array(0);

const countLines = (bytes: Uint8Array, from: number): number => {
  let lines = 0;
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) lines += 1;
  return lines;
};

/** The bytes of one connection that the parser keeps: lines of an unfinished head or unfinished trailers. */
interface Unfinished {
  /** The number of lines in earlier reads. */
  lines: number;
  lastRead: Uint8Array;
  /** The index in `lastRead` at which counting starts: after the last piece of a body, or 0 if there is none. */
  from: number;
}

/**
 * Records what undici's errors and events do not report: the socket of an error, whether a response without a length "ended"
 * because its connection was reset (undici mistakes the reset for the end), and how many lines an unfinished head has. undici
 * limits the bytes of names and values, but 60,000 one-letter lines stay below that limit and take 14 MB.
 */
export class SocketWatch {
  readonly #failed = new WeakMap<Error, Socket>();
  #failing: Error | undefined;
  /** The unfinished head or trailers on the most recently read connection. */
  #unfinished: Unfinished | undefined;

  /** Returns the number of bytes read from the socket that failed with `error`, or 0 if no socket did. */
  bytesReadBefore(error: Error): number {
    return this.#failed.get(error)?.bytesRead ?? 0;
  }

  /** The error that undici's own listener is currently handling. */
  get failing(): Error | undefined {
    return this.#failing;
  }

  /**
   * Called by a handler for each head and for each piece of a body. A piece is a view into the last read, because undici calls
   * handlers while it is parsing that read.
   */
  progressed(piece?: Uint8Array): void {
    const unfinished = this.#unfinished;
    if (unfinished === undefined) return;
    unfinished.lines = 0;
    if (piece) unfinished.from = Math.max(0, piece.byteOffset + piece.length - unfinished.lastRead.byteOffset);
  }

  /** Calls `handOver`, which attaches undici's listeners, so that they run between the two listeners of this class. */
  watch(socket: Socket, handOver: () => void): void {
    socket.on('error', (error: Error) => {
      this.#failed.set(error, socket);
      this.#failing = error;
    });
    this.#countLines(socket);
    handOver();
    socket.on('error', () => {
      this.#failing = undefined;
    });
  }

  /**
   * Counts lines and destroys the connection if an unfinished head or unfinished trailers have too many. Replaces `read`, because
   * undici reads sockets only through `read`, and reads once more after each read that it has parsed.
   */
  #countLines(socket: Socket): void {
    const read = socket.read.bind(socket) as (bytes?: number) => Buffer | null;
    const unfinished: Unfinished = { lines: 0, lastRead: NOTHING, from: 0 };
    socket.read = (bytes?: number): Buffer | null => {
      this.#unfinished = unfinished;
      unfinished.lines += countLines(unfinished.lastRead, unfinished.from);
      unfinished.lastRead = NOTHING;
      if (unfinished.lines > UNFINISHED_LINES_MAX) {
        socket.destroy(tooManyLines());
        return null;
      }
      const data = read(bytes);
      unfinished.lastRead = data ?? NOTHING;
      unfinished.from = 0;
      return data;
    };
  }
}
