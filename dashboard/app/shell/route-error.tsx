import { isRouteErrorResponse, useRouteError } from '../remix.ts';
import { ErrorView } from './error-view.tsx';

/** `ErrorBoundary` of a route. Everything around the route stays. */
export const RouteError = () => {
  const error = useRouteError();
  return isRouteErrorResponse(error) ? (
    <ErrorView status={error.status} data={error.data as unknown} />
  ) : (
    <ErrorView status={500} data={undefined} />
  );
};
