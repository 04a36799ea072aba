import type { LoaderFunctionArgs } from '@remix-run/node';
import { refusalMessage } from '../../src/pages/failures.ts';
import { explainRequest } from '../../src/requests/explain-request.ts';
import { readRow } from '../exchange/read-exchange.server.ts';
import { respondOrUnavailable } from '../requests/read-traffic.server.ts';
import { exchangeParams } from './params.server.ts';

/** Returns the explanation of the response to one captured request, for the Response tab. */
export const loader = async ({ params, context }: LoaderFunctionArgs) => {
  const row = await readRow(context.backend, exchangeParams(params));
  const explaining = explainRequest(context, row);
  return respondOrUnavailable(explaining.catch((error: unknown) => ({ unavailable: refusalMessage(error) })));
};

export { keepFetched as clientLoader } from '../ui/kept-form.ts';
