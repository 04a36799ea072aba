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

const INTERIM = Buffer.from('HTTP/1.1 1');
const [ZERO, TWO, CR] = [0x30, 0x32, 0x0d];

/**
 * Turns the status 100 of an interim response into 102, in place. Any client can get `100 Continue` (RFC 9110 section 15.2), but undici
 * takes it for an error. It passes all other interim responses to its handler, which ignores them.
 */
class InterimHeads {
  /** The number of matched bytes of `INTERIM`, or -1 if the response is not interim. */
  #matched = 0;
  /** The number of zeros after `INTERIM`, or -1 after another byte. */
  #zeros = 0;
  #isLineEmpty = false;

  /** Called when the next byte is the first of a response. */
  begin(): void {
    this.#matched = 0;
    this.#zeros = 0;
  }

  rewrite(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && this.#matched !== -1; at += 1) {
      const byte = bytes[at];
      // As undici does, ignores empty lines before a status line.
      if (this.#matched === 0 && (byte === CR || byte === LF)) continue;
      if (this.#matched < INTERIM.length) this.#matched = byte === INTERIM[this.#matched] ? this.#matched + 1 : -1;
      else if (byte === LF) this.#endLine();
      else if (byte !== CR) {
        this.#isLineEmpty = false;
        this.#zeros = byte === ZERO && this.#zeros !== -1 ? this.#zeros + 1 : -1;
        if (this.#zeros === 2) bytes[at] = TWO;
      }
    }
  }

  /** An empty line ends the head. The next byte is then the first of another head. */
  #endLine(): void {
    if (this.#isLineEmpty) this.begin();
    this.#isLineEmpty = true;
  }
}

const countLines = (bytes: Uint8Array, from: number): number => {
  let lines = 0;
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) lines += 1;
  return lines;
};

/** What undici's errors and events do not report about one connection. */
export class WatchedConnection {
  readonly #socket: Socket;
  /** Lines of an unfinished head or unfinished trailers in earlier reads. The parser keeps them. */
  #lines = 0;
  #lastRead: Uint8Array = NOTHING;
  /** The index in `#lastRead` at which counting starts: after the last piece of a body, or 0 if there is none. */
  #from = 0;
  #canSend = true;
  readonly #heads = new InterimHeads();

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Called if a write has failed. What the upstream sent before that can still be read. */
  broken(): void {
    this.#canSend = false;
  }

  /**
   * Called by a handler for each head and for each piece of a body. A piece is a view into the last read, because undici calls
   * handlers while it is parsing that read.
   */
  progressed(piece?: Uint8Array): void {
    this.#lines = 0;
    if (piece) this.#from = Math.max(0, piece.byteOffset + piece.length - this.#lastRead.byteOffset);
  }

  /**
   * Called by a handler at the end of a response. Closes the connection if it is broken, or if much of the request is still unsent,
   * because a next request would wait behind it. undici itself closes a connection only if the upstream asks for it.
   */
  responded(): void {
    this.#heads.begin();
    const { writableLength, writableHighWaterMark } = this.#socket;
    if (!this.#canSend || writableLength > writableHighWaterMark) this.#socket.destroy();
  }

  /** Returns the next bytes for the parser, or null if there are none, or if the parser would keep too many lines. */
  read(read: (bytes?: number) => Buffer | null, bytes?: number): Buffer | null {
    this.#lines += countLines(this.#lastRead, this.#from);
    this.#lastRead = NOTHING;
    if (this.#lines > UNFINISHED_LINES_MAX) {
      this.#socket.destroy(tooManyLines());
      return null;
    }
    const data = read(bytes);
    if (data) this.#heads.rewrite(data);
    this.#lastRead = data ?? NOTHING;
    this.#from = 0;
    return data;
  }
}

type Written = (error?: Error | null) => void;

/**
 * Records what undici's errors and events do not report: the socket of an error, whether a response without a length "ended"
 * because its connection was reset (undici mistakes the reset for the end), and how many lines an unfinished head has. undici
 * limits the bytes of names and values, but 60,000 one-letter lines stay below that limit and take 14 MB.
 */
export class SocketWatch {
  readonly #failed = new WeakMap<Error, Socket>();
  #failing: Error | undefined;
  #reading: WatchedConnection | undefined;

  /** Returns the number of bytes read from the socket that failed with `error`, or 0 if no socket did. */
  bytesReadBefore(error: Error): number {
    return this.#failed.get(error)?.bytesRead ?? 0;
  }

  /** The error that undici's own listener is currently handling. */
  get failing(): Error | undefined {
    return this.#failing;
  }

  /** The most recently read connection. While undici is parsing, the connection whose bytes it parses. */
  get reading(): WatchedConnection | undefined {
    return this.#reading;
  }

  /** Calls `handOver`, which attaches undici's listeners, so that they run between the two listeners of this class. */
  watch(socket: Socket, handOver: () => void): void {
    const connection = new WatchedConnection(socket);
    socket.on('error', (error: Error) => {
      this.#failed.set(error, socket);
      this.#failing = error;
    });
    this.#watchReads(socket, connection);
    this.#watchWrites(socket, connection);
    handOver();
    socket.on('error', () => {
      this.#failing = undefined;
      // Node reports a TLS error after the handshake without closing the connection, and undici then reports only its end.
      socket.destroy();
    });
  }

  /** Replaces `read`, because undici reads sockets only through `read`, and reads once more after each read that it has parsed. */
  #watchReads(socket: Socket, connection: WatchedConnection): void {
    const read = socket.read.bind(socket) as (bytes?: number) => Buffer | null;
    socket.read = (bytes?: number): Buffer | null => {
      this.#reading = connection;
      return connection.read(read, bytes);
    };
  }

  /**
   * Reports a failed write only when everything that the upstream sent has been read, because an upstream may respond before it has
   * received the whole request, and then close the connection (RFC 9112 section 9.5). A socket that learns of a failed write drops
   * what is still to be read.
   */
  #watchWrites(socket: Socket, connection: WatchedConnection): void {
    const afterReading =
      (written: Written): Written =>
      (error) => {
        if (!error || socket.destroyed) {
          written(error);
          return;
        }
        connection.broken();
        // EPIPE means that the upstream ended the connection properly before it reset it. After any other error, a response without
        // a length may be incomplete.
        const isEnd = 'code' in error && error.code === 'EPIPE';
        socket.prependOnceListener('end', () => {
          if (!isEnd) this.#failing = error;
        });
        socket.once('end', () => {
          this.#failing = undefined;
          written(error);
        });
      };
    const write = socket._write.bind(socket);
    socket._write = (chunk, encoding, written) => write(chunk, encoding, afterReading(written));
    const writev = socket._writev?.bind(socket);
    if (writev) socket._writev = (chunks, written) => writev(chunks, afterReading(written));
  }
}
