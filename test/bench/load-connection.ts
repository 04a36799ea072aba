import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface LoadConnectionOptions {
  readonly port: number;
  /** An answer is whole; the connection is free again. */
  readonly onAnswer: (connection: LoadConnection, isOk: boolean) => void;
  readonly onError: (error: Error) => void;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const STATUS_AT = 'HTTP/1.1 '.length;
/** Of an answer: more than any bench's, so that one read takes it whole. */
const READ_BYTES = 65_536;

/**
 * One connection of the load generator, one request at a time. Of an answer it reads no more than status and Content-Length; one as
 * long as that before it is taken for its like. Cheap, so that the server is what is measured.
 */
export class LoadConnection {
  /** When the request that is on its way was to go out, `performance.now()`; for whoever sends. */
  dueMs = 0;
  /** Since when it is free, `performance.now()`; for whoever sends. */
  freeSinceMs = 0;
  readonly #options: LoadConnectionOptions;
  readonly #socket: Socket;
  #isOk = true;
  /** Bytes of the answer that are still to come; 0 while its head is. */
  #leftBytes = 0;
  #answerBytes = 0;

  private constructor(options: LoadConnectionOptions) {
    this.#options = options;
    const onread = {
      buffer: Buffer.allocUnsafe(READ_BYTES),
      callback: (length: number, chunk: Uint8Array) => this.#take(length, chunk as Buffer),
    };
    this.#socket = connect({ port: options.port, host: '127.0.0.1', noDelay: true, onread });
    this.#socket.on('error', options.onError);
    this.#socket.on('close', () => options.onError(new Error('the server closed the connection')));
  }

  static async open(options: LoadConnectionOptions): Promise<LoadConnection> {
    const connection = new LoadConnection(options);
    await once(connection.#socket, 'connect');
    return connection;
  }

  send(request: Buffer): void {
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.removeAllListeners('close').destroy();
  }

  #take(length: number, chunk: Buffer): boolean {
    if (this.#leftBytes === 0) {
      this.#isOk = chunk[STATUS_AT] === 0x32 && chunk[STATUS_AT + 1] === 0x30 && chunk[STATUS_AT + 2] === 0x30;
      if (length !== this.#answerBytes) this.#answerBytes = answerBytes(chunk.subarray(0, length));
      if (this.#answerBytes === 0) {
        this.#options.onError(new Error('an answer whose head came in parts, or without Content-Length'));
        return false;
      }
      this.#leftBytes = this.#answerBytes;
    }
    this.#leftBytes -= length;
    if (this.#leftBytes <= 0) {
      this.#leftBytes = 0;
      this.#options.onAnswer(this, this.#isOk);
    }
    return true;
  }
}

/** Bytes of the whole answer, from the part of it that came first; 0 where that does not say. */
const answerBytes = (chunk: Buffer): number => {
  const headEnd = chunk.indexOf(HEAD_END);
  const contentLength = /\r\ncontent-length: *(\d+)/i.exec(chunk.toString('latin1', 0, Math.max(0, headEnd)))?.[1];
  return contentLength === undefined ? 0 : headEnd + HEAD_END.length + Number(contentLength);
};
