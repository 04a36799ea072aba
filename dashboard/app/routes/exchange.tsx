import type { LoaderFunctionArgs, MetaFunction } from '@remix-run/node';
import { useLoaderData, useSearchParams, type ShouldRevalidateFunction } from '@remix-run/react';
import { ExchangePanel, TAB_PARAM } from '../traffic/exchange-panel.tsx';
import { exchangeTarget } from '../exchange/exchange-title.tsx';
import { loadExchange } from '../exchange/load-exchange.server.ts';
import { readExchange } from '../exchange/read-exchange.server.ts';
import { exchangeParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { BackLink } from '../ui/back-link.tsx';

export const meta: MetaFunction<typeof loader> = ({ data }) => [
  { title: data === undefined ? 'Request · Standin' : `${data.view.method} ${exchangeTarget(data.view)} · Standin` },
];

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  return { params: names, view: await readExchange(backend, names, loadExchange) };
};

/**
 * Skips the reload when only the query changes, or after a form such as a preference. The query selects the tab and the body views,
 * and captured data does not change.
 */
export const shouldRevalidate: ShouldRevalidateFunction = ({
  currentUrl,
  nextUrl,
  formMethod,
  defaultShouldRevalidate,
}) => {
  const isSame = currentUrl.pathname === nextUrl.pathname;
  return isSame && (currentUrl.search !== nextUrl.search || formMethod !== undefined) ? false : defaultShouldRevalidate;
};

const Exchange = () => {
  const { params, view } = useLoaderData<typeof loader>();
  const [search] = useSearchParams();
  return (
    <div className="mx-auto flex w-full max-w-6xl flex-col gap-2 px-4 min-[1600px]:max-w-[112rem] py-4">
      <BackLink to={paths.traffic(params)}>Traffic</BackLink>
      <ExchangePanel exchange={view} project={params} tab={search.get(TAB_PARAM) ?? ''} level="h1" />
    </div>
  );
};
export default Exchange;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
