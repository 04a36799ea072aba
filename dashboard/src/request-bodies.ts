import type { IncomingMessage, ServerResponse } from 'node:http';
import { Holding, SharedPool } from '@standin/contract';
import type { Pools } from './pools.ts';

/** Thrown if a body exceeds a limit. */
export class BodyRefusal extends Error {
  override readonly name = 'BodyRefusal';
  /** `busy` means that the sender's share of the memory for all request bodies is used up. */
  readonly kind: 'too_large' | 'busy';

  constructor(kind: BodyRefusal['kind']) {
    super(kind);
    this.kind = kind;
  }
}

/**
 * Yields a body's chunks. Throws a `BodyRefusal` instead of yielding a chunk that would exceed `bytesMax` or the sender's share of the
 * memory for all bodies.
 */
export type ReadBody = (
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
) => AsyncGenerator<Uint8Array, void>;

export interface BodyLimits {
  readonly bytesMax: number;
  /** Finds whose share of the memory the body uses. */
  readonly findHolder: () => string | Promise<string>;
}

/**
 * Maximum total size of the request bodies in memory. Parsing a form takes about six times the size of its body, and the chart
 * gives the process 768 MiB.
 */
const HELD_BODY_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Creates a reader that limits the size of bodies, by `Content-Length` and by counting bytes. A body counts from its first byte
 * until its response is closed, because data derived from the body is in memory for as long.
 */
export const bodyReader = ({
  heldBytesMax = HELD_BODY_BYTES_MAX,
  pools,
}: { readonly heldBytesMax?: number; readonly pools?: Pools } = {}): ReadBody => {
  const held = new SharedPool(heldBytesMax);
  pools?.set('request_bodies', held);
  return async function* (request, response, { bytesMax, findHolder }) {
    if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw new BodyRefusal('too_large');
    const memory = new Holding(held, await findHolder());
    response.once('close', () => memory[Symbol.dispose]());
    // By default, leaving the loop destroys the request. `discardRest` still needs the request.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (memory.amount + chunk.length > bytesMax) throw new BodyRefusal('too_large');
      if (!memory.take(chunk.length)) throw new BodyRefusal('busy');
      yield chunk;
    }
  };
};

/**
 * How long a client may send the rest of its body after the response. Clients that read only after sending then still receive the
 * response.
 */
const REST_MS_MAX = 5_000;

/** Discards the rest of a request that already has its response. Closes the connection if the rest takes too long. */
export const discardRest = (request: IncomingMessage, response: ServerResponse): void => {
  response.once('finish', () => {
    if (request.complete) return;
    const timer = setTimeout(() => request.socket.destroy(), REST_MS_MAX);
    request.once('close', () => clearTimeout(timer)).resume();
  });
};
