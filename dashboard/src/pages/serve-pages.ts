import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { Request as ExpressRequest, RequestHandler, Response as ExpressResponse } from 'express';
import type { DashboardContext } from '../dashboard-context.ts';
import { boundedBuild } from './bounded-build.ts';
import { remixHandler } from './remix-handler.js';

export interface ServePagesParts {
  /** The exports of a build's `server/index.js`. */
  readonly build: unknown;
  readonly contextOf: (request: ExpressRequest, response: ExpressResponse) => DashboardContext;
  readonly bodyOf: (request: ExpressRequest, response: ExpressResponse) => ReadableStream<Uint8Array>;
}

/**
 * Serves the routes of a build. Replaces `@remix-run/express`, which applies no backpressure, does not cancel responses when the
 * client disconnects, and does not limit request bodies.
 */
export const servePages = ({ build, contextOf, bodyOf }: ServePagesParts): RequestHandler => {
  const answer = remixHandler(boundedBuild(build));
  return (request, response, next) => {
    const url = `http://${request.headers.host ?? ''}${request.originalUrl}`;
    // Rejects request targets that are not paths: `*`, and absolute URLs, which are meant for proxies.
    if (!request.originalUrl.startsWith('/') || !URL.canParse(url)) {
      response.status(400).type('text').send('Invalid request target.\n');
      return;
    }
    // Otherwise, each such request would write to the log: `Request` rejects these methods, and Remix warns about these paths.
    if (NO_METHODS.includes(request.method) || !isDecodable(request.path)) {
      response.status(400).type('text').send('Invalid method or path.\n');
      return;
    }
    // Rejects the old URLs for route data, because Remix logs a warning for each such request.
    if (new URL(url).searchParams.has('_data')) {
      response.status(400).type('text').send('Pages do not accept ?_data=. Remove it from the URL.\n');
      return;
    }
    // Also aborts after a response without a body (HEAD), so that everything the route started for it ends.
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    const body = ['GET', 'HEAD'].includes(request.method) ? undefined : bodyOf(request, response);
    const init = { method: request.method, headers: headersOf(request), signal: closed.signal };
    answer(
      new Request(url, {
        ...init,
        ...(body !== undefined && { body: body as unknown as NonNullable<RequestInit['body']>, duplex: 'half' }),
      }),
      contextOf(request, response),
    )
      .then((answered) => send(response, answered))
      .catch(next);
  };
};

/** Methods that the Fetch API forbids. */
const NO_METHODS: readonly string[] = ['CONNECT', 'TRACE', 'TRACK'];

const isDecodable = (path: string): boolean => {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
};

const headersOf = ({ headers }: ExpressRequest): Headers => {
  const result = new Headers();
  for (const [name, values = []] of Object.entries(headers))
    for (const value of [values].flat()) result.append(name, value);
  return result;
};

const send = async (response: ExpressResponse, { status, headers, body }: Response): Promise<void> => {
  response.status(status);
  for (const [name, value] of headers) response.append(name, value);
  if (body === null) {
    response.end();
    return;
  }
  if (response.destroyed) {
    await body.cancel();
    return;
  }
  response.flushHeaders();
  try {
    await pipeline(Readable.fromWeb(body as ReadableStream), response);
  } catch (error) {
    // A client that disconnected is not an error.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
};
