import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { Link, useNavigation } from '@remix-run/react';
import { getProject } from '../../src/projects/projects.ts';
import { projectParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { BulkForm } from '../replays/bulk-form.tsx';
import { BulkPlan } from '../replays/bulk-plan.tsx';
import { fixedRange, isFixed, planReplay } from '../replays/plan-replay.server.ts';
import { readBulkValues, toBulkReplay } from '../replays/replay-values.ts';
import { newSubmission } from '../replays/submission.tsx';
import { createReplay, submittedReplayName } from '../replays/save-replay.server.ts';
import { usePreferences } from '../shell/preferences.ts';
import { BackLink } from '../ui/back-link.tsx';
import { useKept } from '../ui/kept-form.ts';
import { LostNotice } from '../ui/error-summary.tsx';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { buttonClass } from '../ui/button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Notice } from '../ui/notice.tsx';

export const meta: MetaFunction = () => [{ title: 'Replay requests · Standin' }];

export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  await getProject(backend, names);
  const values = readBulkValues(new URL(request.url).searchParams);
  const isAsked = values.q !== '' || values.from !== '' || values.to !== '';
  if (isAsked && !isFixed(values)) {
    throw redirect(paths.newReplay(names, { ...values, ...(await fixedRange(backend, names, values)) }));
  }
  return { params: names, submission: newSubmission(), values, planned: await planReplay(backend, names, values) };
};

/** Removes thousands separators and spaces, because the page shows `1,204`. */
const digits = (text: FormDataEntryValue | null): string =>
  typeof text === 'string' ? text.replaceAll(/[\s,.]/g, '') : '';

export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = projectParams(params);
  const form = await request.formData();
  const values = readBulkValues(new URL(request.url).searchParams);
  const planned = await planReplay(backend, names, values);
  const refused = (confirm: readonly string[], errors: readonly string[] = []) =>
    data({ confirm, errors }, { status: 422 });
  if (planned.kind !== 'plan')
    return refused([], ['Nothing was sent, because the plan could not be confirmed. Check the plan and try again.']);
  const { count } = planned.plan;
  if (count === 0) return refused([], ['No requests match. Change the search or the time range.']);
  if (digits(form.get('confirm')) !== String(count))
    return refused([`Type ${count} to confirm the number of requests.`]);
  const name = submittedReplayName(form, [names, values]);
  const { object: created, errors } = await createReplay(backend, toBulkReplay(values, { ...names, name }));
  if (created === undefined) return refused([], [...errors.form, ...Object.values(errors.fields).flat()]);
  return redirect(paths.replay({ ...names, replay: name }));
};

export { keepLoaded as clientLoader, keepSubmitted as clientAction } from '../ui/kept-form.ts';

const NewReplay = () => {
  const { loaded, lost } = useKept<typeof loader>();
  const { params, submission, values, planned } = loaded;
  const { answer: refused, unsaved } = useSubmitted<typeof action>();
  const { time } = usePreferences();
  const isSending = useNavigation().formMethod === 'POST';
  const toTraffic = paths.traffic(params, { q: values.q, from: values.from, to: values.to });
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-4">
      <BackLink to={toTraffic}>Traffic</BackLink>
      <h1 className="mt-1 mb-4 text-h1">Replay requests</h1>
      <LostNotice lost={lost} what="plan" />
      {planned.kind === 'empty' ? (
        <EmptyState
          title="No requests selected"
          action={
            <>
              <Link to={paths.newReplay(params, { from: '1h' })} className={buttonClass('primary')}>
                Use the last hour
              </Link>
              <Link to={paths.traffic(params)} className={buttonClass()}>
                Choose requests in Traffic
              </Link>
            </>
          }
        >
          A replay needs a search or a time range. Set one in Traffic and choose “Replay these”. Or start with the last
          hour, and adjust the search and the time range on the next page.
        </EmptyState>
      ) : (
        <div className="grid grid-cols-1 gap-8 lg:grid-cols-2">
          <BulkForm values={values} errors={planned.kind === 'invalid' ? planned.errors : undefined} />
          {planned.kind === 'unavailable' && (
            <div>
              <Notice look="bad" alert>
                {planned.message} Reload the page to try again.
              </Notice>
            </div>
          )}
          {planned.kind === 'plan' && (
            <BulkPlan
              params={params}
              submission={submission}
              values={values}
              plan={planned.plan}
              commands={planned.commands}
              refused={refused}
              unsaved={unsaved}
              // The plan is for earlier values if it cannot be loaded.
              canSend={!isSending && lost === undefined}
              zone={time}
            />
          )}
        </div>
      )}
    </div>
  );
};
export default NewReplay;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
