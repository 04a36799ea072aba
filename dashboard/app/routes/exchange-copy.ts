import type { LoaderFunctionArgs } from '@remix-run/node';
import { COPY_FORMATS, copyOf } from '../exchange/exchange-formats.ts';
import { gatewayUrl } from '../exchange/gateway-url.server.ts';
import { readExchange } from '../exchange/read-exchange.server.ts';
import { notFound } from '../lib/failures.server.ts';
import { exchangeParams } from '../lib/params.server.ts';
import { getProject } from '../lib/resources.server.ts';

/** An exchange as text for the clipboard: `?as=curl`, `fetch` or `har`. */
export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const { searchParams } = new URL(request.url);
  const format = COPY_FORMATS.find((name) => name === searchParams.get('as'));
  if (format === undefined) throw notFound('such format', `Ask for ?as=${COPY_FORMATS.join(', ')}.`);
  const [project, entry] = await Promise.all([
    getProject(backend, names),
    readExchange(backend, names, (log, id) => log.get(id)),
  ]);
  return Response.json(copyOf(entry, format, { baseUrl: gatewayUrl(project) }));
};
