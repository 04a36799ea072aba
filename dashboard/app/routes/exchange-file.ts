import type { LoaderFunctionArgs } from '@remix-run/node';
import { requestMessage } from '@standin/exchange/formats';
import { capturedFile, capturedText } from '../exchange/captured-file.server.ts';
import { readRow } from '../exchange/read-exchange.server.ts';
import { harStream } from '../../src/requests/har-stream.ts';
import { readExchange } from '../exchange/read-exchange.server.ts';
import { notFound } from '../../src/pages/failures.ts';
import { exchangeParams } from './params.server.ts';

/** Returns a file: the raw request for `?as=http`, or the request and the response as an HTTP archive for `?as=har`. */
export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const format = new URL(request.url).searchParams.get('as');
  if (format !== 'http' && format !== 'har') throw notFound('format', 'Use ?as=http or ?as=har.');
  if (format === 'http') {
    const { method, target, httpVersion, requestHeaders: headers, requestBody } = await readRow(backend, names);
    const message = requestMessage({ method, request: { target, httpVersion, headers } }, requestBody);
    return capturedFile(message, `${names.id}.http`);
  }
  const entry = await readExchange(backend, names, (log, id) => log.get(id));
  return capturedText(harStream(entry, { baseUrl: backend.gatewayUrl }), `${names.id}.har`, 'application/json');
};
