import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { Link, useNavigate, useNavigation } from '@remix-run/react';
import { describeUpstream } from '../../src/endpoints/endpoints.ts';
import { readRow } from '../exchange/read-exchange.server.ts';
import { exchangeParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { BackLink } from '../ui/back-link.tsx';
import { useKept } from '../ui/kept-form.ts';
import { LostNotice } from '../ui/error-summary.tsx';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { toCapturedView, valuesLike } from '../replays/captured-view.server.ts';
import { findReplay, getReplay, replaySpec } from '../../src/replays/replays.ts';
import { ReplayForm } from '../replays/replay-form.tsx';
import { readReplayValues, toReplayValues, toReplay } from '../replays/replay-values.ts';
import { newSubmission } from '../replays/submission.tsx';
import { createReplay, submittedReplayName } from '../replays/save-replay.server.ts';
import { buttonClass } from '../ui/button.tsx';

export const meta: MetaFunction = () => [{ title: 'Replay request · Standin' }];

/** Returns the name of the earlier replay whose edits fill the form, if any. */
const earlierReplay = (url: string): string | undefined => new URL(url).searchParams.get('like') ?? undefined;

export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const row = await readRow(backend, names);
  const captured = toCapturedView(row);
  const replay = earlierReplay(request.url);
  const earlier = replay === undefined ? undefined : replaySpec(await getReplay(backend, { ...names, replay }));
  return {
    params: names,
    submission: newSubmission(),
    captured,
    values: earlier === undefined ? toReplayValues(captured) : valuesLike(captured, earlier),
    upstream: await describeUpstream(backend, row),
    isBodyFocused: new URL(request.url).searchParams.get('focus') === 'body',
  };
};

export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = exchangeParams(params);
  const captured = toCapturedView(await readRow(backend, names));
  const form = await request.formData();
  const values = readReplayValues(form);
  const replay = earlierReplay(request.url);
  // The earlier replay may have expired in the meantime.
  const earlier = replay === undefined ? undefined : await findReplay(backend, { ...names, replay });
  const shown = earlier && replaySpec(earlier).edit?.body;
  const name = submittedReplayName(form, [names, replay, values]);
  const { object: created, errors } = await createReplay(
    backend,
    toReplay(values, captured, { ...names, name }, shown),
    values,
  );
  if (created === undefined) return data({ values, errors }, { status: 422 });
  return redirect(paths.replay({ ...names, replay: name }));
};

export { keepLoaded as clientLoader, keepSubmitted as clientAction } from '../ui/kept-form.ts';

const ReplayExchange = () => {
  const { loaded, lost } = useKept<typeof loader>();
  const { params, captured, values, upstream, isBodyFocused } = loaded;
  const { answer: refused, unsaved } = useSubmitted<typeof action>();
  const isSending = useNavigation().formMethod === 'POST';
  const navigate = useNavigate();
  const back = paths.exchange(params);
  useShortcuts([{ keys: 'Escape', label: 'Back to request', run: () => navigate(-1), hidden: true }]);
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-4">
      <BackLink to={back}>Request</BackLink>
      <h1 className="mt-1 mb-4 text-h1">Replay request</h1>
      <LostNotice lost={lost} what="request" />
      <ReplayForm
        submission={loaded.submission}
        captured={captured}
        values={refused?.values ?? values}
        errors={refused?.errors}
        unsaved={unsaved}
        upstream={upstream}
        isBodyFocused={isBodyFocused}
        isSending={isSending}
        // The values are those of an earlier URL if the page cannot be loaded.
        canSend={!isSending && lost === undefined}
      >
        <Link to={back} className={buttonClass('ghost')}>
          Cancel
        </Link>
      </ReplayForm>
    </div>
  );
};
export default ReplayExchange;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
