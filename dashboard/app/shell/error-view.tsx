import type { Failure } from '../../src/pages/failures.ts';
import { paths } from '../paths.ts';
import { Link, useRevalidator } from '../remix.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { useRetryWhile } from '../ui/use-retry-while.ts';

/** The status and data of the error that `useRouteError` returns. */
export interface ErrorViewProps {
  readonly status: number;
  readonly data: unknown;
}

const isFailure = (value: unknown): value is Failure =>
  typeof value === 'object' && value !== null && 'title' in value && 'message' in value && 'kind' in value;

/**
 * Shows an error within the usual layout. Reloads the page's data until it is available, if the status is 503, or permitted. Users
 * can get a permission later. An API server that starts denies everything until it has read the roles.
 */
export const ErrorView = ({ status, data }: ErrorViewProps) => {
  const { revalidate } = useRevalidator();
  const isRetried = status === 503 || status === 403;
  useRetryWhile(isRetried);
  const failure = isFailure(data)
    ? data
    : status === 404
      ? { title: 'Page not found', message: 'Check the address. The page may have been removed.' }
      : status < 500
        ? { title: 'Request rejected', message: 'Go back, reload the page and try again.' }
        : { title: 'Something went wrong', message: 'See the dashboard log for details.' };
  return (
    <div className="mx-auto flex w-full max-w-xl flex-col gap-3 px-4 py-16">
      <p className="font-mono text-small text-muted">{status}</p>
      <h1 className="text-h1">{failure.title}</h1>
      <p className="break-words text-muted">{failure.message}</p>
      {isRetried && <p role="status">Retrying every few seconds.</p>}
      <div className="mt-2 flex gap-2">
        {/* What does not exist will not exist at a second try either. */}
        {status !== 404 && <Button onClick={revalidate}>Try again</Button>}
        <Link to={paths.projects()} className={buttonClass(status === 404 ? 'primary' : 'ghost')}>
          All projects
        </Link>
      </div>
    </div>
  );
};
