import { useEffect, useState } from 'react';
import type { EndpointName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { formatCount, formatDuration, formatRowTime, type TrafficRow } from '../requests/traffic-row.ts';
import { usePreferences } from '../shell/preferences.ts';
import { Sparkline } from '../projects/sparkline.tsx';
import { MethodName, StatusBadge } from '../ui/badge.tsx';
import type { EndpointActivity } from './endpoint-activity.server.ts';

type Activity = EndpointActivity | { readonly unavailable: string };

const RELOAD_MS = 3_000;

/** Reloads the endpoint's requests every few seconds while the page is visible. */
const useActivity = (url: string, loaded: Activity): Activity => {
  const [{ activity, from }, setState] = useState({ activity: loaded, from: loaded });
  if (from !== loaded) setState({ activity: loaded, from: loaded });
  useEffect(() => {
    const aborted = new AbortController();
    const reload = async (): Promise<void> => {
      if (document.hidden) return;
      const response = await fetch(url, { signal: aborted.signal });
      if (!response.ok) return;
      const next = (await response.json()) as Activity;
      setState((before) => ({ ...before, activity: next }));
    };
    // The current requests stay if the server does not respond.
    const timer = setInterval(() => void reload().catch(() => undefined), RELOAD_MS);
    return () => {
      clearInterval(timer);
      aborted.abort();
    };
  }, [url]);
  return activity;
};

interface RowProps {
  readonly params: EndpointName;
  readonly row: TrafficRow;
}

const RequestLink = ({ params, row: { id, path, query } }: RowProps) => (
  <Link
    to={paths.exchange({ ...params, id })}
    data-row
    className="truncate font-mono text-small after:absolute after:inset-0"
  >
    <bdi>{query === '' ? path : `${path}?${query}`}</bdi>
  </Link>
);

/** A row of the list. On a phone, the path has a line of its own. */
const ROW =
  'relative grid min-h-7 grid-cols-[auto_5.5rem_3.5rem_minmax(0,1fr)_auto] items-center gap-x-2 border-b border-line px-2 last:border-b-0 hover:bg-hover has-focus-visible:bg-selected max-sm:grid-cols-[auto_minmax(3.25rem,auto)_minmax(0,1fr)_auto] max-sm:py-1 max-sm:[&>a]:order-last max-sm:[&>a]:col-span-full';

/** Shows the endpoint's latest requests, its last error, and its requests by hour. */
export const EndpointActivitySection = ({
  params,
  loaded,
}: {
  readonly params: EndpointName;
  readonly loaded: Activity;
}) => {
  const activity = useActivity(paths.endpointRequests(params), loaded);
  const { time } = usePreferences();
  const rowTime = ({ receivedAt }: TrafficRow): string => formatRowTime(receivedAt, time, new Date());
  if ('unavailable' in activity)
    return (
      <section aria-label="Requests">
        <p className="text-muted">{activity.unavailable}</p>
      </section>
    );
  const { rows, byHour, lastError } = activity;
  const total = byHour.reduce((sum, count) => sum + count, 0);
  const counted = `${formatCount(total)} ${total === 1 ? 'request' : 'requests'} in the last 24 hours`;
  return (
    <section aria-labelledby="requests" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <h2 id="requests" className="font-medium">
          Requests
        </h2>
        <Sparkline values={byHour} label={`${counted}, by hour`} />
        <span className="text-muted tabular-nums">{counted}</span>
        <Link
          to={paths.traffic(params, { q: `endpoint:${params.endpoint}` })}
          className="ml-auto rounded text-small text-muted underline hover:text-text"
        >
          All requests
        </Link>
      </div>
      {rows.length === 0 ? (
        <p className="text-muted">No requests yet. They appear here within a few seconds.</p>
      ) : (
        <ul aria-label="Latest requests" className="rounded border border-line">
          {rows.map((row) => (
            <li key={row.id} className={ROW}>
              <time
                dateTime={row.receivedAt}
                suppressHydrationWarning
                className="font-mono text-small text-muted tabular-nums"
              >
                {rowTime(row)}
              </time>
              <span>
                <StatusBadge status={row.status} />
              </span>
              <MethodName method={row.method} />
              <RequestLink params={params} row={row} />
              <span className="text-small text-muted tabular-nums">{formatDuration(row.durationMs)}</span>
            </li>
          ))}
        </ul>
      )}
      {lastError !== undefined && (
        <p className="relative flex min-w-0 items-center gap-2 text-small">
          <span className="shrink-0 text-muted">Last error</span>
          <StatusBadge status={lastError.status} />
          <RequestLink params={params} row={lastError} />
          <span suppressHydrationWarning className="shrink-0 text-muted tabular-nums">
            {rowTime(lastError)}
          </span>
        </p>
      )}
    </section>
  );
};
