import type { LoaderFunctionArgs } from '@remix-run/node';
import { requestMessage } from '@standin/logstore/formats';
import { capturedFile } from '../exchange/captured-file.server.ts';
import { readExchange } from '../exchange/read-exchange.server.ts';
import { notFound } from '../lib/failures.server.ts';
import { exchangeParams } from '../lib/params.server.ts';

/** An exchange as a file: `?as=http` is the request as it was on the wire. */
export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const { searchParams } = new URL(request.url);
  if (searchParams.get('as') !== 'http') throw notFound('such format', 'Ask for ?as=http.');
  const entry = await readExchange(backend, names, (log, id) => log.get(id));
  return capturedFile(requestMessage(entry), `${names.id}.http`);
};
