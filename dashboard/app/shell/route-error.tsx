import { isRouteErrorResponse, useRouteError } from '../remix.ts';
import { ErrorView } from './error-view.tsx';

/** The `ErrorBoundary` of a route. The surrounding layout stays visible. */
export const RouteError = () => {
  const error = useRouteError();
  return isRouteErrorResponse(error) ? (
    <ErrorView status={error.status} data={error.data as unknown} />
  ) : (
    <ErrorView status={500} data={undefined} />
  );
};
