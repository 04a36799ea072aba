import type { LoaderFunctionArgs, MetaFunction } from '@remix-run/node';
import { Link, useLoaderData } from '@remix-run/react';
import { getProject } from '../../src/projects/projects.ts';
import { useLiveResources } from '../shell/live.ts';
import { projectParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { useRowKeys } from '../shell/shortcuts.ts';
import { usePreferences } from '../shell/preferences.ts';
import { listReplays } from '../../src/replays/replays.ts';
import { toReplayView } from '../replays/to-replay-view.server.ts';
import { ReplayTable } from '../replays/replay-table.tsx';
import { buttonClass } from '../ui/button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';

export const meta: MetaFunction = () => [{ title: 'Replays · Standin' }];

/** The maximum number of rows, so that the page renders without a noticeable delay. */
const ROWS_MAX = 200;

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  await getProject(backend, names);
  const all = await listReplays(backend, names);
  return { params: names, total: all.length, replays: all.slice(0, ROWS_MAX).map(toReplayView) };
};

const Replays = () => {
  const { params, total, replays } = useLoaderData<typeof loader>();
  const { time } = usePreferences();
  useLiveResources(params.namespace);
  useRowKeys();
  const toTraffic = (
    <Link to={paths.traffic(params)} className={buttonClass(total === 0 ? 'primary' : 'secondary')}>
      Choose requests in Traffic
    </Link>
  );
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6">
      <div className="mb-3 flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <h1 className="text-h1">Replays</h1>
        {total > 0 && toTraffic}
      </div>
      {total === 0 ? (
        <EmptyState title="No replays yet" action={toTraffic}>
          Open a request in Traffic and choose <b>Replay</b> to send it again, with or without edits. Or filter Traffic
          and replay all matching requests, for example after an outage. By default, replays are removed from this list
          a day after they end.
        </EmptyState>
      ) : (
        <>
          <ReplayTable params={params} replays={replays} zone={time} />
          {total > replays.length && (
            <p className="mt-3 text-muted">
              Showing the newest {replays.length} of {total}.
            </p>
          )}
        </>
      )}
    </div>
  );
};
export default Replays;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
