import { once } from 'node:events';
import { connect } from 'node:net';
import { json as readJson } from 'node:stream/consumers';

/**
 * A closed-loop load generator, a process of its own so that it can be pinned: reads `LoadOptions` as JSON from its standard
 * input, prints a `LoadResult`. Its requests are made beforehand; of an answer it reads no more than status and Content-Length.
 */
export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** Whole requests, latin1, sent in turn. */
  readonly requests: readonly string[];
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Answers with another status than 200. */
  readonly refused: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');
/** Of an answer: more than any bench's, so that one read takes it whole. */
const READ_BYTES = 65_536;

/** One connection: the next request goes out when the answer to the last one is whole. Cheap, so that the server is what is measured. */
const runConnection = async (
  port: number,
  nextRequest: () => Buffer,
  until: number,
  waits: number[],
): Promise<number> => {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let refused = 0;
  let sentAt = 0;
  /** Bytes of the answer that are still to come; 0 while its head is. */
  let left = 0;
  const take = (length: number, chunk: Uint8Array): boolean => {
    if (left === 0) {
      const answer = readHead(chunk as Buffer, length);
      if (answer === undefined) reject(new Error('an answer whose head came in parts, or without Content-Length'));
      else {
        if (!answer.ok) refused += 1;
        left = answer.bytes;
      }
    }
    left -= length;
    if (left > 0) return true;
    const now = performance.now();
    waits.push(now - sentAt);
    next(now);
    return true;
  };
  const onread = { buffer: Buffer.allocUnsafe(READ_BYTES), callback: take };
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread });
  const next = (now: number): void => {
    sentAt = now;
    if (now >= until) {
      socket.destroy();
      resolve(refused);
    } else socket.write(nextRequest());
  };
  socket.on('error', reject);
  socket.on('close', () => reject(new Error('the server closed the connection')));
  await once(socket, 'connect');
  next(performance.now());
  return promise;
};

const STATUS_AT = 'HTTP/1.1 '.length;

/** Bytes of the whole answer, from the part of it that came first. */
const readHead = (chunk: Buffer, length: number): { readonly ok: boolean; readonly bytes: number } | undefined => {
  const headEnd = chunk.indexOf(HEAD_END);
  if (headEnd < 0 || headEnd >= length) return undefined;
  const contentLength = /\r\ncontent-length: *(\d+)/i.exec(chunk.toString('latin1', 0, headEnd))?.[1];
  if (contentLength === undefined) return undefined;
  const ok = chunk[STATUS_AT] === 0x32 && chunk[STATUS_AT + 1] === 0x30 && chunk[STATUS_AT + 2] === 0x30;
  return { ok, bytes: headEnd + HEAD_END.length + Number(contentLength) };
};

const runLoad = async (options: LoadOptions): Promise<LoadResult> => {
  const waits: number[] = [];
  const requests = options.requests.map((text) => Buffer.from(text, 'latin1'));
  let turn = 0;
  const nextRequest = (): Buffer => {
    turn = (turn + 1) % requests.length;
    return requests[turn] ?? Buffer.alloc(0);
  };
  const started = performance.now();
  const until = started + options.seconds * 1_000;
  const refused = await Promise.all(
    Array.from({ length: options.connections }, () => runConnection(options.port, nextRequest, until, waits)),
  );
  const seconds = (performance.now() - started) / 1_000;
  const sorted = Float64Array.from(waits).sort();
  const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
  return {
    requests: waits.length,
    seconds,
    refused: refused.reduce((sum, count) => sum + count, 0),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
};

if (import.meta.main) {
  const options = (await readJson(process.stdin)) as LoadOptions;
  console.log(JSON.stringify(await runLoad(options)));
}
