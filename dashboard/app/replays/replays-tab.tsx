import type { ReplaySummary } from '@standin/logstore';
import { REPLAY_OF_HEADER } from '@standin/egress/replay';
import { RotateCw } from 'lucide-react';
import { useEffect } from 'react';
import { headerValue } from '../exchange/exchange-view.ts';
import type { ExchangeTabProps } from '../exchange/request-tab.tsx';
import { paths } from '../paths.ts';
import { Link, useFetcher } from '../remix.ts';
import { formatDuration } from '../requests/traffic-row.ts';
import { usePreferences } from '../shell/preferences.ts';
import { StatusBadge } from '../ui/badge.tsx';
import { buttonClass } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import { targetInWords } from './replay-view.ts';

type Answer = { readonly replays: readonly ReplaySummary[] } | { readonly unavailable: string };

const LOG_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Lists the replays of one captured request, newest first. Each links to a comparison of the responses. */
export const ReplaysTab = ({ view, exchange }: ExchangeTabProps) => {
  const fetcher = useFetcher<Answer>();
  const { time } = usePreferences();
  const { load, data } = fetcher;
  const url = paths.exchangeReplays(exchange);
  useEffect(() => load(url), [load, url]);
  const repeats = headerValue(view.request.headers, REPLAY_OF_HEADER) ?? '';
  return (
    <>
      {LOG_ID.test(repeats) && (
        <p>
          This request is a replay of{' '}
          <Link to={paths.exchange({ ...exchange, id: repeats })} className="text-accent underline">
            another request{' '}
          </Link>
          .
        </p>
      )}
      {data === undefined ? (
        <p className="text-muted">Loading…</p>
      ) : 'unavailable' in data ? (
        <Notice look="bad">{data.unavailable} Reload the page to try again.</Notice>
      ) : data.replays.length === 0 ? (
        <p className="text-muted">
          No replay results. When you replay this request, the result appears here. Results are kept for as long as
          captured requests.
        </p>
      ) : (
        <ul className="rounded border border-line">
          {data.replays.map((replay) => (
            <Replay key={replay.replayUid} replay={replay} exchange={exchange} zone={time} />
          ))}
        </ul>
      )}
      <p>
        <Link to={paths.replayExchange(exchange)} className={buttonClass()}>
          <RotateCw aria-hidden /> Replay
        </Link>
      </p>
    </>
  );
};

interface ReplayProps extends Pick<ExchangeTabProps, 'exchange'> {
  readonly replay: ReplaySummary;
  readonly zone: 'local' | 'utc';
}

const Replay = ({
  replay: { replay, target, url, status, durationMs, sentAt, error },
  exchange,
  zone,
}: ReplayProps) => (
  <li className="relative flex min-h-7 flex-wrap items-center gap-x-3 gap-y-0.5 border-b border-line px-2 py-1 last:border-b-0 hover:bg-hover has-focus-visible:bg-selected">
    <StatusBadge status={status} />
    <Link
      to={paths.replayResult({ ...exchange, replay })}
      className="min-w-0 flex-1 basis-40 truncate after:absolute after:inset-0"
      title={error === '' ? url : error}
    >
      to {targetInWords({ target, url })}
    </Link>
    <span className="text-small text-muted tabular-nums">{formatDuration(durationMs)}</span>
    <span className="text-small text-muted">
      <Time at={sentAt} zone={zone} />
    </span>
  </li>
);
