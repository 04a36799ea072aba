import type { LoaderFunctionArgs } from '@remix-run/node';
import { requestMessage, utf8Bytes } from '@standin/logstore/formats';
import { capturedFile } from '../exchange/captured-file.server.ts';
import { copyOf } from '../exchange/exchange-formats.ts';
import { gatewayUrl } from '../exchange/gateway-url.server.ts';
import { readExchange } from '../exchange/read-exchange.server.ts';
import { notFound } from '../lib/failures.server.ts';
import { exchangeParams } from '../lib/params.server.ts';
import { getProject } from '../lib/resources.server.ts';

/** An exchange as a file: `?as=http` is the request as it was on the wire, `?as=har` an HTTP archive. */
export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const format = new URL(request.url).searchParams.get('as');
  if (format !== 'http' && format !== 'har') throw notFound('such format', 'Ask for ?as=http or ?as=har.');
  const [project, entry] = await Promise.all([
    getProject(backend, names),
    readExchange(backend, names, (log, id) => log.get(id)),
  ]);
  if (format === 'http') return capturedFile(requestMessage(entry), `${names.id}.http`);
  const { text } = copyOf(entry, 'har', { baseUrl: gatewayUrl(project) });
  return capturedFile(utf8Bytes(text), `${names.id}.har`, 'application/json');
};
