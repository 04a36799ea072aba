import type { LoaderFunctionArgs } from '@remix-run/node';
import { bodiesOf, readRow } from '../exchange/captured-row.server.ts';
import { COPY_FORMATS } from '../exchange/exchange-formats.ts';
import { gatewayUrl } from '../exchange/gateway-url.server.ts';
import { notFound, orFail } from '../lib/failures.server.ts';
import { exchangeParams } from '../lib/params.server.ts';
import { getProject } from '../lib/resources.server.ts';

/** An exchange as text for the clipboard: `?as=curl`, `fetch` or `har`. */
export const loader = async ({ request, params, context: { backend, workers } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const { searchParams } = new URL(request.url);
  const format = COPY_FORMATS.find((name) => name === searchParams.get('as'));
  if (format === undefined) throw notFound('such format', `Ask for ?as=${COPY_FORMATS.join(', ')}.`);
  const [project, row] = await Promise.all([getProject(backend, names), readRow(backend, names)]);
  const options = { baseUrl: gatewayUrl(project) };
  const json = await orFail(workers.run('copyExchange', { row, format, options, as: 'json' }, bodiesOf(row)));
  return new Response(json, { headers: { 'content-type': 'application/json; charset=utf-8' } });
};
