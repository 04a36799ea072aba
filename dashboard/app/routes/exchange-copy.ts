import type { LoaderFunctionArgs } from '@remix-run/node';
import { listText } from '@standin/contract';
import { capturedParts } from '../../src/captured/captured-bytes.ts';
import { readRow } from '../exchange/read-exchange.server.ts';
import { COPY_FORMATS } from '../../src/captured/exchange-formats.ts';
import { harStream } from '../../src/requests/har-stream.ts';
import { readExchange } from '../exchange/read-exchange.server.ts';
import { notFound } from '../../src/pages/failures.ts';
import { exchangeParams } from './params.server.ts';
import { textStream } from '../../src/pages/text-stream.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Returns text for the clipboard: the request as a command (`?as=curl`) or code (`?as=fetch`), or the exchange (`?as=har`). */
export const loader = async ({ request, params, context: { backend, workers } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const { searchParams } = new URL(request.url);
  const format = COPY_FORMATS.find((name) => name === searchParams.get('as'));
  if (format === undefined) throw notFound('format', `Use ?as= with ${listText(COPY_FORMATS, 'or')}.`);
  const options = { baseUrl: backend.gatewayUrl };
  if (format === 'har') {
    const entry = await readExchange(backend, names, (log, id) => log.get(id));
    return textStream(jsonText(harStream(entry, options)), { 'content-type': JSON_TYPE });
  }
  const row = await readRow(backend, names);
  return Response.json(await workers.run('writeSnippet', { row, format, options }, capturedParts(row)));
};

/** Writes an `ExchangeCopy` as JSON. */
async function* jsonText(text: AsyncIterable<string>): AsyncGenerator<string> {
  yield '{"text":"';
  // Each piece ends at a character boundary, so it can be escaped on its own.
  for await (const piece of text) yield JSON.stringify(piece).slice(1, -1);
  yield '","notes":[]}';
}
