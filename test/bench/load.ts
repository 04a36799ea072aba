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

/** One connection: the next request goes out when the answer to the last one is whole. */
const runConnection = async (
  port: number,
  nextRequest: () => Buffer,
  until: number,
  waits: number[],
): Promise<number> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  let refused = 0;
  let sentAt = 0;
  /** Bytes of the answer that are still to come; -1 while its head is not whole. */
  let left = -1;
  let head: Buffer | undefined;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const next = () => {
    sentAt = performance.now();
    if (sentAt >= until) {
      socket.destroy();
      resolve(refused);
    } else socket.write(nextRequest());
  };
  const take = (chunk: Buffer): void => {
    if (left < 0) {
      const bytes = head === undefined ? chunk : Buffer.concat([head, chunk]);
      const headEnd = bytes.indexOf(HEAD_END);
      if (headEnd < 0) {
        head = bytes;
        return;
      }
      head = undefined;
      const text = bytes.toString('latin1', 0, headEnd);
      if (!text.startsWith('200', 9)) refused += 1;
      const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
      if (length === undefined) reject(new Error(`an answer without Content-Length: ${text}`));
      left = Number(length) - (bytes.length - headEnd - HEAD_END.length);
    } else left -= chunk.length;
    if (left > 0) return;
    left = -1;
    waits.push(performance.now() - sentAt);
    next();
  };
  socket.on('data', take);
  socket.on('error', reject);
  socket.on('close', () => reject(new Error('the server closed the connection')));
  next();
  return promise;
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
