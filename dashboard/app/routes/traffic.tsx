import { data, type ActionFunctionArgs, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { useLoaderData, type ShouldRevalidateFunction } from '@remix-run/react';
import { projectParams } from './params.server.ts';
import { loadTraffic } from '../traffic/load-traffic.server.ts';
import { sendSampleRequest } from '../../src/requests/sample-request.ts';
import { isSameList } from '../traffic/traffic-query.ts';
import { TrafficScreen } from '../traffic/traffic-screen.tsx';

export const meta: MetaFunction = ({ params }) => [{ title: `Traffic · ${params['project'] ?? ''} · Standin` }];

export const loader = ({ request, params, context: { backend } }: LoaderFunctionArgs) =>
  loadTraffic(backend, projectParams(params), new URL(request.url).searchParams);

/** Sends a sample request for the user. The page offers this in a project without requests. */
export const action = async ({ params, context: { backend } }: ActionFunctionArgs) => {
  const sent = await sendSampleRequest(backend, projectParams(params));
  return data(sent, { status: sent.error === undefined ? 200 : 502 });
};

export { keepSubmitted as clientAction } from '../ui/kept-form.ts';

/**
 * Skips the reload when the user opens a request or submits a form, such as a preference, because the stream of new requests keeps
 * the list up to date.
 */
export const shouldRevalidate: ShouldRevalidateFunction = ({
  currentUrl,
  nextUrl,
  formMethod,
  defaultShouldRevalidate,
}) => {
  if (formMethod !== undefined && formMethod !== 'GET') return false;
  const isSamePage = currentUrl.pathname === nextUrl.pathname;
  const isAskedFor = currentUrl.href === nextUrl.href;
  if (isSamePage && !isAskedFor && isSameList(currentUrl.searchParams, nextUrl.searchParams)) return false;
  return defaultShouldRevalidate;
};

const Traffic = () => <TrafficScreen data={useLoaderData<typeof loader>()} />;
export default Traffic;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
