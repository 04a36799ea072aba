import type { LoaderFunctionArgs } from '@remix-run/node';
import { requestMessage } from '@standin/logstore/formats';
import { capturedFile } from '../exchange/captured-file.server.ts';
import { bodiesOf, readRow } from '../exchange/captured-row.server.ts';
import { gatewayUrl } from '../exchange/gateway-url.server.ts';
import { notFound, orFail } from '../lib/failures.server.ts';
import { exchangeParams } from '../lib/params.server.ts';
import { getProject } from '../lib/resources.server.ts';

/** An exchange as a file: `?as=http` is the request as it was on the wire, `?as=har` an HTTP archive. */
export const loader = async ({ request, params, context: { backend, workers } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const format = new URL(request.url).searchParams.get('as');
  if (format !== 'http' && format !== 'har') throw notFound('such format', 'Ask for ?as=http or ?as=har.');
  const [project, row] = await Promise.all([getProject(backend, names), readRow(backend, names)]);
  if (format === 'http') {
    const { method, target, httpVersion, requestHeaders: headers, requestBody } = row;
    const message = requestMessage({ method, request: { target, httpVersion, headers } }, requestBody);
    return capturedFile(message, `${names.id}.http`);
  }
  const options = { baseUrl: gatewayUrl(project) };
  const har = await orFail(workers.run('copyExchange', { row, format, options, as: 'text' }, bodiesOf(row)));
  return capturedFile(har, `${names.id}.har`, 'application/json');
};
