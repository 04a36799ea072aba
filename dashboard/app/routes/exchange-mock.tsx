import { data, type ActionFunctionArgs, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { Link, useNavigation } from '@remix-run/react';
import { listText } from '@standin/contract';
import { formatTime } from '@standin/contract';
import type { MockOptions } from '../../src/captured/draft-of-row.ts';
import { LineDiffView } from '../diff/line-diff-view.tsx';
import { readRow } from '../exchange/read-exchange.server.ts';
import { writeRefusal } from '../../src/pages/failures.ts';
import { redirectWithNotice } from './redirect-with-notice.server.ts';
import { BackLink } from '../ui/back-link.tsx';
import { useInitialFocus } from '../ui/initial-focus.ts';
import { exchangeParams } from './params.server.ts';
import { readMockChoice } from '../mocks/mock-choice.ts';
import { describeCallers, MOCK_FORM, MockForm } from '../mocks/mock-form.tsx';
import { paths } from '../paths.ts';
import { endpointSpec } from '../../src/resources/specs.ts';
import { usePreferences } from '../shell/preferences.ts';
import { LostNotice, NotSaved } from '../ui/error-summary.tsx';
import { useKept } from '../ui/kept-form.ts';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { draftMock } from '../../src/endpoints/draft-mock.ts';
import { expectedVersion } from '../ui/save-form.server.ts';
import { MethodName, StatusBadge } from '../ui/badge.tsx';
import { Button, buttonClass } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { Notice } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';

export const meta: MetaFunction = () => [{ title: 'Save response as mock · Standin' }];

export const loader = async ({ request, params, context }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const row = await readRow(context.backend, names);
  const choice = readMockChoice(new URL(request.url).searchParams);
  const { endpoint, options, draft } = await draftMock(context, names.project, row, choice);
  const { method, status, receivedAtUs } = row;
  const spec = endpoint && endpointSpec(endpoint);
  return {
    params: names,
    answer: { method, status, receivedAt: formatTime(receivedAtUs), path: spec?.slug ?? row.path },
    endpoint: { name: row.endpoint, title: spec?.displayName ?? row.endpoint },
    keepsUpstream: spec?.forward !== undefined,
    options,
    draft: 'reason' in draft ? draft : { ...draft, object: undefined },
  };
};

export const action = async ({ request, params, context }: ActionFunctionArgs) => {
  const names = exchangeParams(params);
  const form = await request.formData();
  const row = await readRow(context.backend, names);
  const { options, draft } = await draftMock(context, names.project, row, readMockChoice(form));
  const refused = (reason: string) => data({ reason }, { status: 422 });
  if ('reason' in draft) return refused(draft.reason);
  if (draft.obstacle !== undefined) return refused(draft.obstacle);
  const refusal = await writeRefusal(context.backend.resources.apply(draft.object, expectedVersion(form)));
  if (refusal !== undefined) return refused(refusal);
  const callers = options?.place === 'response' ? 'to requests that meet its conditions ' : '';
  return redirectWithNotice(
    paths.endpoint({ ...names, endpoint: row.endpoint }),
    `Saved. ${row.endpoint} returns this response ${callers}as soon as the gateways have the change.`,
  );
};

export { keepLoaded as clientLoader, keepSubmitted as clientAction } from '../ui/kept-form.ts';

const NAMES_SHOWN_MAX = 5;

const shortList = (names: readonly string[]): string =>
  names.length <= NAMES_SHOWN_MAX
    ? listText(names)
    : listText([...names.slice(0, NAMES_SHOWN_MAX), `${names.length - NAMES_SHOWN_MAX} more`]);

interface SummaryProps {
  readonly options: MockOptions;
  readonly keepsUpstream: boolean;
  readonly decoded: readonly string[];
  readonly dropped: readonly string[];
  readonly addedType: string | undefined;
}

const Summary = ({ options, keepsUpstream, decoded, dropped, addedType }: SummaryProps) => (
  <p>
    <bdi>{describeCallers(options)}</bdi> will receive this status, these headers and this body, byte for byte.
    {options.place === 'json' &&
      keepsUpstream &&
      ' The upstream stays in the manifest. To use the upstream again, set action: Forward.'}
    {decoded.length > 0 && ` The body is stored decompressed. It was received as ${listText(decoded)}.`}
    {addedType !== undefined && ` The response has no content type, so content-type: ${addedType} is added.`}
    {dropped.length > 0 && (
      <span className="text-muted">
        {' '}
        These headers are omitted, because they apply only to the original response or exceed a limit:{' '}
        {listText(dropped)}.
      </span>
    )}
  </p>
);

const ExchangeMock = () => {
  const { loaded, lost } = useKept<typeof loader>();
  const { params, answer, endpoint, keepsUpstream, options, draft } = loaded;
  const { answer: refused, unsaved } = useSubmitted<typeof action>();
  const isSaving = useNavigation().formMethod === 'POST';
  const { time } = usePreferences();
  const save = useInitialFocus<HTMLButtonElement>();
  const back = paths.exchange(params);
  return (
    <div className="mx-auto flex w-full max-w-4xl flex-col gap-4 px-4 py-4">
      <div>
        <BackLink to={back}>Request</BackLink>
        <h1 className="mt-1 text-h1">Save this response as a mock for {endpoint.title}</h1>
        <p className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-1 break-all">
          <MethodName method={answer.method} />
          <code>{answer.path}</code>
          <StatusBadge status={answer.status} />
          <span className="text-muted">
            of <Time at={answer.receivedAt} zone={time} />
          </span>
        </p>
      </div>
      <LostNotice lost={lost} what="changes" />
      <NotSaved unsaved={unsaved} canRetry={false} />
      {refused !== undefined && (
        <Notice look="bad" alert>
          Not saved. {refused.reason}
        </Notice>
      )}
      {options !== undefined && <MockForm options={options} />}
      {'reason' in draft || options === undefined ? (
        'reason' in draft && <Notice look="info">{draft.reason}</Notice>
      ) : (
        <>
          {draft.obstacle !== undefined && <Notice look="locked">{draft.obstacle}</Notice>}
          <Summary {...draft} options={options} keepsUpstream={keepsUpstream} />
          {draft.credentials.length > 0 && (
            <Notice look="bad">
              This response seems to contain credentials:{' '}
              <bdi className="break-all">{shortList(draft.credentials)}</bdi>. The manifest will contain them, and all
              callers will receive them. Unless they are test data, remove them from the endpoint after you save, or do
              not save this response.
            </Notice>
          )}
          <div className="flex flex-col gap-1">
            <div className="flex items-center justify-between">
              <h2 className="font-medium">Manifest changes</h2>
              <CopyButton text={draft.yaml} label="Copy new manifest" />
            </div>
            <LineDiffView label="Manifest changes" lines={draft.lines} total={draft.changedLines} />
          </div>
        </>
      )}
      <div
        data-sticky-actions
        className="sticky bottom-0 flex flex-wrap items-center gap-2 border-t border-line bg-page py-3"
      >
        {'obstacle' in draft && draft.obstacle === undefined && (
          <Button
            type="submit"
            form={MOCK_FORM}
            formMethod="post"
            name="version"
            value={draft.version}
            look="primary"
            // The changes are for earlier values if they cannot be loaded.
            disabled={isSaving || lost !== undefined}
            ref={save}
          >
            Save as mock
          </Button>
        )}
        <Link to={back} className={buttonClass('ghost')}>
          {'reason' in draft ? 'Back to request' : 'Cancel'}
        </Link>
      </div>
    </div>
  );
};
export default ExchangeMock;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
