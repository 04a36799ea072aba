import type { IncomingMessage, ServerResponse } from 'node:http';

/** Why a body is not read to its end. */
export class BodyRefusal extends Error {
  override readonly name = 'BodyRefusal';
  /** `busy`: all bodies together take too much memory just now. */
  readonly kind: 'too_large' | 'busy';

  constructor(kind: BodyRefusal['kind']) {
    super(kind);
    this.kind = kind;
  }
}

/** Yields a body's chunks. Throws a `BodyRefusal` before the first byte too many is kept. */
export type ReadBody = (
  request: IncomingMessage,
  response: ServerResponse,
  bytesMax: number,
) => AsyncGenerator<Uint8Array, void>;

/**
 * Bodies of all requests that are held at the same time. A body of 1 MiB costs about six times as much while a form is parsed,
 * and the chart gives the process 512 MiB.
 */
const HELD_BODY_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Reads bodies within bounds, by `Content-Length` and by count. A body counts against the sum of all from its first byte until its
 * response is closed: what was made of it lives as long.
 */
export const bodyReader = (heldBytesMax = HELD_BODY_BYTES_MAX): ReadBody => {
  let held = 0;
  return async function* (request, response, bytesMax) {
    if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw new BodyRefusal('too_large');
    let bytes = 0;
    const release = (): void => {
      held -= bytes;
      bytes = 0;
    };
    response.once('close', release);
    // The default takes the connection from the request when the loop is left: `discardRest` needs it.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (bytes + chunk.length > bytesMax) throw new BodyRefusal('too_large');
      if (held + chunk.length > heldBytesMax) throw new BodyRefusal('busy');
      held += chunk.length;
      bytes += chunk.length;
      yield chunk;
    }
  };
};

/** A client may send the rest of its body for this long after its response: one that reads only then gets to see it. */
const REST_MS_MAX = 5_000;

/** Discards what still comes of a request that has been answered, and cuts a connection on which too much does. */
export const discardRest = (request: IncomingMessage, response: ServerResponse): void => {
  response.once('finish', () => {
    if (request.complete) return;
    const timer = setTimeout(() => request.socket.destroy(), REST_MS_MAX);
    request.once('close', () => clearTimeout(timer)).resume();
  });
};
