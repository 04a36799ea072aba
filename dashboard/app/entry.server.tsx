import { PassThrough } from 'node:stream';
import { createReadableStreamFromReadable, type AppLoadContext, type EntryContext } from '@remix-run/node';
import { isRouteErrorResponse, RemixServer } from '@remix-run/react';
import { isbot } from 'isbot';
import { renderToPipeableStream } from 'react-dom/server';
import { NonceProvider } from './ui/nonce.ts';

export const streamTimeout = 5_000;

const handleRequest = (
  request: Request,
  status: number,
  headers: Headers,
  ...[remixContext, { nonce, logger }]: [EntryContext, AppLoadContext]
): Promise<Response> =>
  new Promise((resolve, reject) => {
    const waitForAll = isbot(request.headers.get('user-agent')) || remixContext.isSpaMode;
    let answered = false;
    const respond = (): void => {
      answered = true;
      const body = new PassThrough();
      headers.set('content-type', 'text/html; charset=utf-8');
      resolve(new Response(createReadableStreamFromReadable(body), { headers, status }));
      pipe(body);
    };
    const { pipe, abort } = renderToPipeableStream(
      <NonceProvider value={nonce}>
        <RemixServer context={remixContext} url={request.url} nonce={nonce} />
      </NonceProvider>,
      {
        nonce,
        ...(waitForAll ? { onAllReady: respond } : { onShellReady: respond }),
        onShellError: reject,
        onError: (error) => {
          // An error that occurs before the shell is ready rejects the promise and must not be logged twice. A disconnected client
          // is not an error.
          if (answered && !request.signal.aborted) logger.error({ err: error }, 'page failed while streaming');
        },
      },
    );
    setTimeout(abort, streamTimeout + 1_000).unref();
  });

export default handleRequest;

export const handleError = (
  error: unknown,
  { request, context }: { readonly request: Request; readonly context: AppLoadContext },
): void => {
  if (request.signal.aborted) return;
  // Remix itself rejected the request, for example with 405. The rejection is not logged, because anyone can send any number of
  // such requests.
  if (isRouteErrorResponse(error) && error.status < 500) return;
  context.logger.error({ err: error, method: request.method, path: new URL(request.url).pathname }, 'page failed');
};
