import type { LoaderFunctionArgs, MetaFunction } from '@remix-run/node';
import { Link, useLoaderData } from '@remix-run/react';
import { toExpectationView } from '../../src/expectations/expectation-view.ts';
import { getProject } from '../../src/projects/projects.ts';
import { listInProject } from '../../src/resources/in-project.ts';
import { ExpectationTable } from '../expectations/expectation-table.tsx';
import { paths } from '../paths.ts';
import { useLiveResources } from '../shell/live.ts';
import { usePreferences } from '../shell/preferences.ts';
import { useRowKeys } from '../shell/shortcuts.ts';
import { buttonClass } from '../ui/button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { projectParams } from './params.server.ts';

export const meta: MetaFunction = () => [{ title: 'Expectations · Standin' }];

/** The maximum number of rows, so that the page renders without a noticeable delay. */
const ROWS_MAX = 200;

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  await getProject(backend, names);
  const all = await listInProject(backend, 'Expectation', names);
  return { params: names, total: all.length, expectations: all.slice(0, ROWS_MAX).map(toExpectationView) };
};

const Expectations = () => {
  const { params, total, expectations } = useLoaderData<typeof loader>();
  const { time } = usePreferences();
  useLiveResources(params.namespace);
  useRowKeys();
  const toForm = (
    <Link to={paths.newExpectation(params)} className={buttonClass(total === 0 ? 'primary' : 'secondary')}>
      New expectation
    </Link>
  );
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6">
      <div className="mb-3 flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <h1 className="text-h1">Expectations</h1>
        {total > 0 && toForm}
      </div>
      {total === 0 ? (
        <EmptyState title="No expectations yet" action={toForm}>
          An expectation states how many requests must arrive by a deadline, for example exactly one refund, or no
          e-mail. Tests create them with <code>standin expect</code> or kubectl. Expectations are removed from this list
          a day after they end.
        </EmptyState>
      ) : (
        <>
          <ExpectationTable params={params} expectations={expectations} zone={time} />
          {total > expectations.length && (
            <p className="mt-3 text-muted">
              Showing the newest {expectations.length} of {total}.
            </p>
          )}
        </>
      )}
    </div>
  );
};
export default Expectations;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
