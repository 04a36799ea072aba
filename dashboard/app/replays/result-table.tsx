import type { ReplaySummary } from '@standin/logstore';
import type { ReplayName } from '../../src/resources/names.ts';
import { classNames } from '../ui/class-names.ts';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { formatDuration } from '../requests/traffic-row.ts';
import { MethodName, StatusBadge } from '../ui/badge.tsx';
import type { ReplayView } from './replay-view.ts';

export interface ResultTableProps {
  readonly params: ReplayName;
  readonly replay: ReplayView;
  readonly results: readonly ReplaySummary[];
  /** Shows only results with this status. 0 selects those without a response. Undefined selects all results. */
  readonly status: number | undefined;
  readonly isCut: boolean;
}

const chip = (isCurrent: boolean): string =>
  classNames(
    'inline-flex h-7 items-center gap-1.5 rounded border px-2',
    isCurrent ? 'border-accent bg-selected' : 'border-line hover:bg-hover',
  );

/** Lists the statuses with their counts. Each links to the results with this status. */
const Statuses = ({ params, replay: { byStatus, sent }, status }: ResultTableProps) => (
  <nav aria-label="Results by status" className="flex flex-wrap gap-1.5">
    <Link
      to={paths.replay(params)}
      preventScrollReset
      aria-current={status === undefined ? 'page' : undefined}
      className={chip(status === undefined)}
    >
      All <span className="tabular-nums">{sent.toLocaleString('en')}</span>
    </Link>
    {byStatus.map(({ status: code, count }) => (
      <Link
        key={code}
        to={paths.replay(params, { status: String(code) })}
        preventScrollReset
        aria-current={status === code ? 'page' : undefined}
        className={chip(status === code)}
      >
        <StatusBadge status={code} /> <span className="tabular-nums">{count.toLocaleString('en')}</span>
      </Link>
    ))}
  </nav>
);

/** Lists the results. Each row links to the differences from the captured response. */
export const ResultTable = (props: ResultTableProps) => {
  const { params, results, status, isCut } = props;
  return (
    <section aria-labelledby="results" className="flex flex-col gap-2">
      <h2 id="results" className="text-h2">
        Results
      </h2>
      <Statuses {...props} />
      <ul className="rounded border border-line">
        {results.map(({ requestId, method, url, status, error, durationMs }) => (
          <li
            key={requestId}
            className="relative grid min-h-7 grid-cols-[6.5rem_3.5rem_minmax(0,1fr)_auto] items-center gap-x-2 border-b border-line px-2 last:border-b-0 hover:bg-hover has-focus-visible:bg-selected max-sm:py-1"
          >
            <span>
              <StatusBadge status={status} />
            </span>
            <MethodName method={method} />
            <Link
              to={paths.replayResult({ ...params, id: requestId })}
              prefetch="intent"
              data-row
              className="truncate font-mono text-small after:absolute after:inset-0"
              title={url}
            >
              <bdi>{url}</bdi>
            </Link>
            <span className="text-small text-muted tabular-nums">{formatDuration(durationMs)}</span>
            {error !== '' && <span className="col-span-3 col-start-2 break-words text-small text-5xx">{error}</span>}
          </li>
        ))}
      </ul>
      {isCut && (
        <p className="text-muted">
          Showing the first {results.length} results.{status === undefined && ' To see others, choose a status.'}
        </p>
      )}
    </section>
  );
};
