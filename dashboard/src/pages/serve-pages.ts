import { once } from 'node:events';
import type { ReadableStream } from 'node:stream/web';
import type { Request as ExpressRequest, RequestHandler, Response as ExpressResponse } from 'express';
import type { DashboardContext } from '../dashboard-context.ts';
import type { RequestTurns } from '../request-turns.ts';
import { tellEncoded } from '../sender.ts';
import type { CountedWrite, UnreceivedBytes } from '../unreceived-bytes.ts';
import { isWorkRefused, WorkRefused } from '../workers/work-refused.ts';
import { boundedBuild } from './bounded-build.ts';
import { remixHandler } from './remix-handler.js';

export interface ServePagesParts {
  /** The exports of a build's `server/index.js`. */
  readonly build: unknown;
  readonly createContext: (request: ExpressRequest, response: ExpressResponse) => DashboardContext;
  readonly openBody: (request: ExpressRequest, response: ExpressResponse) => ReadableStream<Uint8Array>;
  /** Returns whose shares a page uses (`holders.ts`), without asking the API server. */
  readonly holderFor: (request: ExpressRequest, response: ExpressResponse) => string;
  readonly unreceived: UnreceivedBytes;
  readonly turns: RequestTurns;
}

/**
 * Serves the routes of a build. Replaces `@remix-run/express`, which applies no backpressure, does not cancel responses when the
 * client disconnects, and does not limit request bodies.
 */
export const servePages = (parts: ServePagesParts): RequestHandler => {
  const { build, createContext, openBody, holderFor, unreceived, turns } = parts;
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
    const body = ['GET', 'HEAD'].includes(request.method) ? undefined : openBody(request, response);
    const init = { method: request.method, headers: toHeaders(request), signal: closed.signal };
    const context = createContext(request, response);
    const holder = holderFor(request, response);
    const serve = async (): Promise<void> => {
      await turns(holder, closed.signal);
      const answered = await answer(
        new Request(url, {
          ...init,
          ...(body !== undefined && { body: body as unknown as NonNullable<RequestInit['body']>, duplex: 'half' }),
        }),
        context,
      );
      await send(response, answered, unreceived(response, holder));
    };
    serve().catch((error: unknown) => {
      // A client that disconnected is not an error, nor is one that is too slow.
      if (closed.signal.aborted) return;
      if (!isWorkRefused(error)) next(error);
      else if (!response.headersSent) refuse(response);
    });
  };
};

const refuse = (response: ExpressResponse): void => {
  response.removeHeader('content-disposition');
  response.status(503).set('retry-after', '2').type('text');
  response.send('Too many of your pages are being loaded. Try again in a few seconds.\n');
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

const toHeaders = ({ headers }: ExpressRequest): Headers => {
  const result = new Headers();
  for (const [name, values = []] of Object.entries(headers))
    for (const value of [values].flat()) result.append(name, value);
  return result;
};

/** Pages and their data do not wait for the client, because what was read for them would be in memory for as long. */
const IS_PAGE = /^text\/(html|x-script)/;
const IS_EVENT_STREAM = /^text\/event-stream/;
/** Twice the largest batch of requests. A browser that does not read is disconnected, and then reconnects and starts over. */
const EVENT_BYTES_MAX = 4 * 1024 * 1024;

const send = async (
  response: ExpressResponse,
  { status, headers, body }: Response,
  write: CountedWrite,
): Promise<void> => {
  response.status(status);
  for (const [name, value] of headers) response.append(name, value);
  if (body === null) {
    response.end();
    return;
  }
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  // Called before the client has received the last part.
  reader.closed.then(
    () => tellEncoded(response),
    () => undefined,
  );
  const left = new AbortController();
  const leave = (): void => {
    left.abort();
    // Rejects if the body has failed.
    reader.cancel().catch(() => undefined);
  };
  if (response.destroyed) leave();
  else response.once('close', leave);
  const type = headers.get('content-type') ?? '';
  const isEventStream = IS_EVENT_STREAM.test(type);
  const waits = !isEventStream && !IS_PAGE.test(type);
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const isTooSlow = isEventStream && response.writableLength > EVENT_BYTES_MAX;
      if (isTooSlow || !write(read.value)) throw new WorkRefused('Busy');
      if (waits && response.writableNeedDrain)
        // Also resolves if the client disconnects.
        await once(response, 'drain', { signal: left.signal }).catch(() => undefined);
    }
    response.end();
  } catch (error) {
    leave();
    // A partial response must not look complete.
    if (response.headersSent) response.destroy();
    throw error;
  }
};
