import type { LoaderFunctionArgs } from '@remix-run/node';
import { Form, Link, useLoaderData, useNavigate, useSubmit } from '@remix-run/react';
import { Plus, Search } from 'lucide-react';
import { useRef } from 'react';
import { listEndpoints } from '../../src/endpoints/endpoints.ts';
import { EndpointTable } from '../endpoints/endpoint-table.tsx';
import { toEndpointView } from '../endpoints/endpoint-view.server.ts';
import { FileProblems } from '../projects/file-problems.tsx';
import { useLiveResources } from '../shell/live.ts';
import { projectParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { useRowKeys, useShortcuts } from '../shell/shortcuts.ts';
import { buttonClass } from '../ui/button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Input } from '../ui/input.tsx';

/** The maximum number of rows, so that the page renders without a noticeable delay. The filter finds the other endpoints. */
const ROWS_MAX = 500;

export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  const q = new URL(request.url).searchParams.get('q')?.trim() ?? '';
  const all = (await listEndpoints(backend, names)).map(toEndpointView);
  const words = q.toLowerCase().split(/\s+/);
  const fits = all.filter(({ method, slug, title, endpoint, readiness }) => {
    const text = `${method} ${slug} ${title} ${endpoint} ${readiness.reason}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return {
    params: names,
    q,
    total: all.length,
    found: fits.length,
    endpoints: fits.slice(0, ROWS_MAX),
    problems: (await backend.resources.problems?.()) ?? [],
  };
};

const Endpoints = () => {
  const { params, q, total, found, endpoints, problems } = useLoaderData<typeof loader>();
  const filter = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  const submit = useSubmit();
  useLiveResources(params.namespace);
  useRowKeys();
  useShortcuts([
    { keys: '/', label: 'Filter endpoints', run: () => filter.current?.focus() },
    { keys: 'n', label: 'New endpoint', run: () => navigate(paths.newEndpoint(params)) },
  ]);
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6">
      <div className="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2">
        <h1 className="text-h1">Endpoints</h1>
        {total > 0 && (
          <Form role="search" className="relative order-last w-full sm:order-none sm:w-72">
            <Search aria-hidden className="absolute top-1.5 left-2 size-4 text-muted" />
            <Input
              inputRef={filter}
              type="search"
              name="q"
              aria-label="Filter endpoints"
              placeholder="Filter by method, path, name or state"
              defaultValue={q}
              onInput={(event) => {
                if (event.currentTarget.form !== null) submit(event.currentTarget.form, { replace: true });
              }}
              className="pl-8"
            />
          </Form>
        )}
        {total > 0 && (
          <p role="status" className="text-muted tabular-nums max-sm:hidden">
            {found} of {total}
          </p>
        )}
        <Link to={paths.newEndpoint(params)} className={buttonClass('primary', 'ml-auto')}>
          <Plus aria-hidden /> New endpoint
        </Link>
      </div>
      <FileProblems problems={problems} />
      {total === 0 ? (
        <EmptyState
          title="No endpoints yet"
          action={
            <Link to={paths.newEndpoint(params)} className={buttonClass('primary')}>
              Create endpoint
            </Link>
          }
        >
          An endpoint handles one method on one path. It returns a mock or forwards requests, and records every accepted
          request.
        </EmptyState>
      ) : found === 0 ? (
        <EmptyState
          title="No matching endpoints"
          action={
            <Link to={paths.endpoints(params)} className={buttonClass()}>
              Show all {total}
            </Link>
          }
        >
          No endpoint matches <code>{q}</code> by method, path, name or state.
        </EmptyState>
      ) : (
        <>
          <EndpointTable params={params} endpoints={endpoints} />
          {found > endpoints.length && (
            <p className="mt-3 text-muted">
              Showing the first {endpoints.length} of {found}. Use the filter to find other endpoints.
            </p>
          )}
        </>
      )}
    </div>
  );
};
export default Endpoints;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
