import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { HeaderPair } from '@standin/contract';

/** A response as received on the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly statusText: string;
  /** The headers in Latin-1, in wire order and case. */
  readonly headers: readonly HeaderPair[];
  /** The body without chunk framing. */
  readonly body: Buffer;
  readonly trailers: readonly HeaderPair[];
  /** Returns all values of a header, in order. */
  all(name: string): readonly string[];
}

const ANSWER_TIMEOUT_MS = 20_000;

const parseLines = (text: string): HeaderPair[] =>
  text === ''
    ? []
    : text.split('\r\n').map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')];
      });

interface Head {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly end: number;
}

interface Framed {
  readonly body: Buffer;
  readonly trailers: HeaderPair[];
  readonly end: number;
}

const readChunked = (bytes: Buffer, from: number): Framed | undefined => {
  const parts: Buffer[] = [];
  let at = from;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    at = lineEnd + 2;
    if (size === 0) {
      const noTrailers = bytes.indexOf('\r\n', at) === at;
      const end = noTrailers ? at : bytes.indexOf('\r\n\r\n', at);
      if (end < 0) return undefined;
      const trailers = noTrailers ? [] : parseLines(bytes.toString('latin1', at, end));
      return { body: Buffer.concat(parts), trailers, end: end + (noTrailers ? 2 : 4) };
    }
    if (bytes.length < at + size + 2) return undefined;
    parts.push(bytes.subarray(at, at + size));
    at += size + 2;
  }
};

const readBody = (bytes: Buffer, head: Head, ended: boolean): Framed | undefined => {
  const { status, headers, end: from } = head;
  const header = (name: string) => headers.find(([key]) => key.toLowerCase() === name)?.[1];
  if (status < 200 || status === 204 || status === 304) return { body: Buffer.alloc(0), trailers: [], end: from };
  if (header('transfer-encoding')?.toLowerCase() === 'chunked') return readChunked(bytes, from);
  const length = header('content-length');
  if (length === undefined) return ended ? { body: bytes.subarray(from), trailers: [], end: bytes.length } : undefined;
  const end = from + Number(length);
  return bytes.length < end ? undefined : { body: bytes.subarray(from, end), trailers: [], end };
};

/**
 * Returns the first complete response in `bytes` and the index after it. If no response is complete, returns the total number of
 * bytes that the first one needs, or `undefined` if this number is not known.
 */
const parseAnswer = (
  bytes: Buffer,
  ended: boolean,
): { answer: RawAnswer; end: number } | { wanted: number } | undefined => {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const match = /^HTTP\/1\.[01] (\d{3}) ?(.*)$/.exec(statusLine);
  if (!match) throw new Error(`not a status line: ${statusLine}`);
  const status = Number(match[1]);
  const headers = parseLines(lines.join('\r\n'));
  const framed = readBody(bytes, { status, headers, end: headEnd + 4 }, ended);
  if (!framed) {
    const length = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1];
    return length === undefined ? undefined : { wanted: headEnd + 4 + Number(length) };
  }
  const all = (name: string) => headers.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value);
  const { body, trailers, end } = framed;
  return { answer: { status, statusText: match[2] ?? '', headers, body, trailers, all }, end };
};

/** One connection. The test controls each byte. */
export class RawClient implements Disposable {
  readonly socket: Socket;
  /**
   * Received bytes that have not been returned yet. They are joined only when they are read, because large responses arrive in
   * thousands of pieces.
   */
  #pieces: Buffer[] = [];
  #length = 0;
  /** The next parse waits until this many bytes have arrived. */
  #wanted = 0;
  #ended = false;
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#pieces.push(chunk);
      this.#length += chunk.length;
      this.#wake();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#ended = true;
      this.#wake();
    });
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  /** Returns the received bytes after the responses that `answer` has returned. */
  get pending(): Buffer {
    const [only = Buffer.alloc(0), ...more] = this.#pieces;
    if (more.length === 0) return only;
    const joined = Buffer.concat(this.#pieces);
    this.#pieces = [joined];
    return joined;
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** Sends bytes, or text in Latin-1, in which each character is one byte. */
  send(bytes: string | Uint8Array): void {
    if (!this.socket.destroyed) this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Returns the next response, which may be 100 Continue, or undefined if the connection ended without a complete one. */
  async answer(timeoutMs = ANSWER_TIMEOUT_MS): Promise<RawAnswer | undefined> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const parsed = this.#length < this.#wanted && !this.#ended ? undefined : parseAnswer(this.pending, this.#ended);
      if (parsed && 'answer' in parsed) {
        this.#pieces = [this.pending.subarray(parsed.end)];
        this.#length -= parsed.end;
        this.#wanted = 0;
        return parsed.answer;
      }
      this.#wanted = parsed?.wanted ?? this.#wanted;
      if (this.#ended) return undefined;
      if (!(await this.#changed(deadline))) {
        throw new Error(`no response within ${timeoutMs} ms; received: ${this.pending.toString('latin1', 0, 500)}`);
      }
    }
  }

  /** Waits until the gateway has closed the connection. Resolves with the time in milliseconds. Rejects at the timeout. */
  async closed(timeoutMs = ANSWER_TIMEOUT_MS): Promise<number> {
    const started = performance.now();
    while (!this.#ended) {
      if (!(await this.#changed(started + timeoutMs))) throw new Error(`still open after ${timeoutMs} ms`);
    }
    return performance.now() - started;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  /** Waits until bytes arrive or the connection ends. Resolves with false if the deadline passes first. */
  async #changed(deadline: number): Promise<boolean> {
    const left = deadline - performance.now();
    if (left <= 0) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), left);
    this.#wake = () => resolve(true);
    const changed = await promise;
    clearTimeout(timer);
    return changed;
  }
}

/** Sends bytes on a new connection. Resolves with the first response that is not 100 Continue. */
export const ask = async (port: number, bytes: string | Uint8Array): Promise<RawAnswer | undefined> => {
  using client = await RawClient.connect(port);
  client.send(bytes);
  let answer = await client.answer();
  while (answer?.status === 100) answer = await client.answer();
  return answer;
};
