import { REPLAY_OF_HEADER } from '@standin/egress/replay';
import type { ProjectName } from '../../src/resources/names.ts';
import { ResponseDiffView } from '../diff/response-diff-view.tsx';
import { PairList } from '../exchange/pair-list.tsx';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { formatDuration } from '../requests/traffic-row.ts';
import { MethodName, StatusBadge } from '../ui/badge.tsx';
import { buttonClass } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { Time, type TimeProps } from '../ui/time.tsx';
import type { ResultView } from '../../src/captured/result-view.ts';

export interface ResultPanelProps {
  readonly params: ProjectName;
  /** `Endpoint`, `Upstream` or `URL`. */
  readonly target: string;
  /** The name of the Replay whose edits and target the link "Edit and replay" copies. Undefined if the link copies none. */
  readonly like: string | undefined;
  readonly result: ResultView;
  readonly zone: TimeProps['zone'];
}

const Actions = ({ params, target, like, result }: ResultPanelProps) => {
  const exchange = { ...params, id: result.requestId };
  return (
    <div className="flex flex-wrap gap-2">
      {result.captured !== undefined && (
        <Link to={paths.replayExchange(exchange, like === undefined ? {} : { like })} className={buttonClass()}>
          Edit and replay
        </Link>
      )}
      {target === 'Endpoint' && (
        <Link
          to={paths.traffic(params, { q: `header.${REPLAY_OF_HEADER}:${result.requestId}` })}
          className={buttonClass('ghost')}
        >
          Show replays in Traffic
        </Link>
      )}
    </div>
  );
};

const WholeAnswer = ({ result }: Pick<ResultPanelProps, 'result'>) => {
  const { status, headers, bodyText, bodyBytes, isCut, sentHeaders } = result;
  return (
    <details className="rounded border border-line">
      <summary className="px-3 py-2 font-medium">
        {status === 0 ? 'Sent headers' : 'Full response and sent headers'}
      </summary>
      <div className="flex flex-col gap-4 border-t border-line px-3 py-3">
        {status !== 0 && (
          <>
            <PairList title="Response headers" pairs={headers} />
            <div className="flex flex-col gap-1">
              <h3 className="font-medium">
                Response body{' '}
                <span className="font-normal text-muted">
                  {bodyBytes.toLocaleString('en')} bytes{isCut && ', truncated'}
                </span>
              </h3>
              {bodyText === undefined ? (
                <p className="text-muted">The body is binary and is not shown.</p>
              ) : (
                bodyText !== '' && (
                  <pre
                    tabIndex={0}
                    role="region"
                    aria-label="Response body"
                    className="max-h-96 overflow-auto rounded border border-line bg-panel p-2 break-all whitespace-pre-wrap"
                  >
                    <bdi>{bodyText}</bdi>
                  </pre>
                )
              )}
            </div>
          </>
        )}
        <PairList title="Sent headers" pairs={sentHeaders} />
      </div>
    </details>
  );
};

/** Shows the result of one replayed request, and how it differs from the captured response. */
export const ResultPanel = (props: ResultPanelProps) => {
  const { result, zone } = props;
  const { status, method, url, sentAt, durationMs, error, captured, diff } = result;
  return (
    <div className="flex flex-col gap-5" data-result={status}>
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <p className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1 break-all">
          <MethodName method={method} />
          <code>{url}</code>
          <StatusBadge status={status} />
          <span className="text-muted">
            {formatDuration(durationMs)}, <Time at={sentAt} zone={zone} />
          </span>
        </p>
        <Actions {...props} />
      </div>
      {error !== '' && <Notice look="bad">{error}</Notice>}
      {captured === undefined && (
        <Notice look="info">The captured request is no longer in the log, so the responses can’t be compared.</Notice>
      )}
      {diff !== undefined && <ResponseDiffView diff={diff} />}
      <WholeAnswer result={result} />
    </div>
  );
};
