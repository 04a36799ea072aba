import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface LoadConnectionOptions {
  readonly port: number;
  /** Called when a response is complete and the connection is free again. */
  readonly onAnswer: (connection: LoadConnection, isOk: boolean) => void;
  readonly onError: (error: Error) => void;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const STATUS_AT = 'HTTP/1.1 '.length;
/**
 * The size of the read buffer. It is larger than any response of these benchmarks, so that one read can return a complete response.
 */
const READ_BYTES = 65_536;

/**
 * One connection of the load generator, with one request at a time. It reads only a response's status and Content-Length. If the
 * first chunk of a response is as long as the whole previous response, even the Content-Length is not read. These checks are cheap,
 * so that the benchmark measures the server.
 */
export class LoadConnection {
  /** The due time of the request in flight, by `performance.now()`. Only the load generator sets and reads it. */
  dueMs = 0;
  /** The time at which the connection became free, by `performance.now()`. Only the load generator sets and reads it. */
  freeSinceMs = 0;
  readonly #options: LoadConnectionOptions;
  readonly #socket: Socket;
  #isOk = true;
  /** Remaining bytes of the response, or 0 while its head is incomplete. */
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
        this.#options.onError(new Error('a response with a split head or without Content-Length'));
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

/**
 * Returns the size of the whole response in bytes from its first chunk, or 0 if the chunk does not contain a complete head with a
 * Content-Length.
 */
const answerBytes = (chunk: Buffer): number => {
  const headEnd = chunk.indexOf(HEAD_END);
  const contentLength = /\r\ncontent-length: *(\d+)/i.exec(chunk.toString('latin1', 0, Math.max(0, headEnd)))?.[1];
  return contentLength === undefined ? 0 : headEnd + HEAD_END.length + Number(contentLength);
};
