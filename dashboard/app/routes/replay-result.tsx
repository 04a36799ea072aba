import type { LoaderFunctionArgs, MetaFunction } from '@remix-run/node';
import { Link, useLoaderData } from '@remix-run/react';
import { openLog } from '../../src/projects/projects.ts';
import { toReplayView } from '../replays/to-replay-view.server.ts';
import type { ReplayName, RequestName } from '../../src/resources/names.ts';
import type { ProjectLog } from '../../src/backend.ts';
import { logUnavailable, notFound } from '../../src/pages/failures.ts';
import { exchangeParams, replayParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { usePreferences } from '../shell/preferences.ts';
import { compareResponses, readResponses } from '../../src/replays/results.ts';
import { findReplay } from '../../src/replays/replays.ts';
import { ResultPanel } from '../replays/result-panel.tsx';
import { isUnavailable, orUnavailable } from '../requests/read-traffic.server.ts';
import { BackLink } from '../ui/back-link.tsx';

export const meta: MetaFunction = () => [{ title: 'Replay result · Standin' }];

/**
 * The maximum number of a request's results that are searched for the name of the Replay. The log is searched, because results
 * outlive their Replay.
 */
const SEARCHED_MAX = 500;

const readResult = async (log: ProjectLog, { replay, id }: ReplayName & RequestName) => {
  const of = (await log.replays.ofRequest(id, SEARCHED_MAX)).find((summary) => summary.replay === replay);
  const answers = of && (await readResponses(log, of.replayUid, id));
  return { answers, target: of?.target ?? '' };
};

export const loader = async ({ params, context: { backend, workers } }: LoaderFunctionArgs) => {
  const names = { ...replayParams(params), ...exchangeParams(params) };
  const object = await findReplay(backend, names);
  const log = await openLog(backend, names);
  const found = await orUnavailable(readResult(log, names));
  if (isUnavailable(found)) throw logUnavailable(found.unavailable);
  const { answers, target } = found;
  if (answers === undefined)
    throw notFound('result', 'This replay has not sent the request, or the result is no longer stored.');
  const result = await compareResponses(workers, answers);
  const isSingle = object !== undefined && toReplayView(object).what.kind === 'one';
  return { params: names, hasReplay: object !== undefined, like: isSingle ? names.replay : undefined, target, result };
};

const ReplayResult = () => {
  const { params, hasReplay, like, target, result } = useLoaderData<typeof loader>();
  const { time } = usePreferences();
  return (
    <div className="mx-auto flex w-full max-w-6xl flex-col gap-4 px-4 py-4">
      <div>
        <BackLink to={hasReplay ? paths.replay(params) : paths.exchange(params, { tab: 'replays' })}>
          {hasReplay ? 'Replay' : 'Request'}
        </BackLink>
        <h1 className="mt-1 text-h1">Replay result</h1>
        <p className="text-muted">
          Replay of{' '}
          <Link to={paths.exchange(params)} className="text-accent underline">
            this captured request
          </Link>
          .
        </p>
      </div>
      <ResultPanel params={params} target={target} like={like} result={result} zone={time} />
    </div>
  );
};
export default ReplayResult;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
