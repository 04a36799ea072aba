import { data, type ActionFunctionArgs, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { useLoaderData } from '@remix-run/react';
import { REPLAY_STATES } from '@standin/contract';
import type { ReplaySummary } from '@standin/logstore';
import { openLog } from '../../src/projects/projects.ts';
import { toReplayView } from '../replays/to-replay-view.server.ts';
import { isWorkRefused } from '../../src/workers/work-refused.ts';
import { refusalMessage } from '../../src/pages/failures.ts';
import { useLiveResources } from '../shell/live.ts';
import { toDesired } from '../../src/resources/manifest-yaml.ts';
import { replayParams } from './params.server.ts';
import { usePreferences } from '../shell/preferences.ts';
import { NotDone } from '../ui/error-summary.tsx';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { expectedVersion } from '../ui/save-form.server.ts';
import { Commands } from '../replays/commands.tsx';
import { compareResponses, readResponses } from '../../src/replays/results.ts';
import type { ResultView } from '../../src/captured/result-view.ts';
import { getReplay, setReplayState } from '../../src/replays/replays.ts';
import { replayCommands } from '../replays/replay-commands.server.ts';
import { ReplayHead } from '../replays/replay-head.tsx';
import { ReplayProgress } from '../replays/replay-progress.tsx';
import { hasEnded } from '../replays/replay-view.ts';
import { ResultPanel } from '../replays/result-panel.tsx';
import { ResultTable } from '../replays/result-table.tsx';
import { isUnavailable, orUnavailable, type Unavailable } from '../requests/read-traffic.server.ts';
import { Notice } from '../ui/notice.tsx';

export const meta: MetaFunction = () => [{ title: 'Replay · Standin' }];

/** The maximum number of results on the page. To see others, users limit the list to one status. */
const RESULTS_MAX = 200;

interface Results {
  readonly one?: ResultView | undefined;
  readonly many?: readonly ReplaySummary[];
}

const requestedStatus = (request: Request): number | undefined => {
  const text = new URL(request.url).searchParams.get('status') ?? '';
  return /^\d{1,3}$/.test(text) ? Number(text) : undefined;
};

export const loader = async ({ request, params, context: { backend, workers } }: LoaderFunctionArgs) => {
  const names = replayParams(params);
  const object = await getReplay(backend, names);
  const replay = toReplayView(object);
  const { what, uid } = replay;
  const status = requestedStatus(request);
  const log = await openLog(backend, names);
  const loadOne = async (requestId: string): Promise<Results | Unavailable> => {
    const pair = await orUnavailable(readResponses(log, uid, requestId).then((answers) => ({ answers })));
    if (isUnavailable(pair)) return pair;
    try {
      return { one: pair.answers && (await compareResponses(workers, pair.answers)) };
    } catch (error) {
      if (isWorkRefused(error)) return { unavailable: error.message };
      throw error;
    }
  };
  const loadMany = async (): Promise<Results> => ({
    many: await log.replays.results(uid, { status, limit: RESULTS_MAX }),
  });
  const found = await (what.kind === 'one' ? loadOne(what.requestId) : orUnavailable(loadMany()));
  return {
    params: names,
    replay,
    status,
    results: isUnavailable(found) ? undefined : found,
    unavailable: isUnavailable(found) ? found.unavailable : undefined,
    commands: replayCommands(toDesired(object)),
  };
};

/** Pauses, resumes or cancels the replay by changing `spec.state`. */
export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = replayParams(params);
  const form = await request.formData();
  const state = REPLAY_STATES.find((known) => known === form.get('state'));
  if (state === undefined) throw new Response(null, { status: 400 });
  const replay = await getReplay(backend, names);
  try {
    const saved = await setReplayState(backend, replay, state, expectedVersion(form));
    const error = saved.ok ? undefined : saved.problems.map(({ message }) => message).join('; ');
    return data({ error }, { status: saved.ok ? 200 : 422 });
  } catch (error) {
    return data({ error: refusalMessage(error) }, { status: 409 });
  }
};

export { keepSubmitted as clientAction } from '../ui/kept-form.ts';

const Replay = () => {
  const { params, replay, status, results, unavailable, commands } = useLoaderData<typeof loader>();
  const { answer: refused, unsaved } = useSubmitted<typeof action>();
  const { time } = usePreferences();
  useLiveResources(params.namespace);
  return (
    <div className="mx-auto flex w-full max-w-6xl flex-col gap-5 px-4 py-4">
      <ReplayHead params={params} replay={replay} zone={time} />
      <NotDone unsaved={unsaved} done="changed" />
      {refused?.error !== undefined && (
        <Notice look="bad" alert>
          {refused.error}
        </Notice>
      )}
      {unavailable !== undefined && <Notice look="bad">{unavailable}</Notice>}
      {replay.what.kind === 'many' && <ReplayProgress replay={replay} />}
      {results?.one !== undefined && (
        <ResultPanel params={params} target={replay.target} like={replay.replay} result={results.one} zone={time} />
      )}
      {results?.many !== undefined && replay.sent > 0 && (
        <ResultTable
          params={params}
          replay={replay}
          results={results.many}
          status={status}
          isCut={results.many.length === RESULTS_MAX}
        />
      )}
      {replay.what.kind === 'one' && results !== undefined && results.one === undefined && hasEnded(replay) && (
        <Notice look="info">
          {replay.sent === 0 ? 'The request was not sent, so there is no result.' : 'The result is no longer stored.'}
        </Notice>
      )}
      <Commands {...commands} />
    </div>
  );
};
export default Replay;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
