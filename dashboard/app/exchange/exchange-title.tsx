import { wireText } from '@standin/exchange/formats';
import { formatDuration } from '../requests/traffic-row.ts';
import { usePreferences } from '../shell/preferences.ts';
import { Badge, MethodName, StatusBadge } from '../ui/badge.tsx';
import { Time } from '../ui/time.tsx';
import type { ExchangeView } from './exchange-view.ts';

/** Returns the path and query without the project's URI: `/hooks/orders?x=1`. */
export const exchangeTarget = ({ path, query }: Pick<ExchangeView, 'path' | 'query'>): string =>
  wireText(query === '' ? path : `${path}?${query}`).text;

/** Shows an exchange's method and target as a heading, and below them its status, time, duration and HTTP version. */
export const ExchangeTitle = ({
  view,
  level: Heading,
}: {
  readonly view: ExchangeView;
  readonly level: 'h1' | 'h2';
}) => (
  <div className="flex min-w-0 flex-col gap-1">
    <Heading className="flex items-baseline gap-2 text-ui font-normal">
      <MethodName method={view.method} />
      <code className="line-clamp-3 min-w-0 break-all">
        <bdi>{exchangeTarget(view)}</bdi>
      </code>
    </Heading>
    <p className="flex flex-wrap items-center gap-x-2 gap-y-0.5 text-small text-muted">
      {view.outcome === 'in_progress' ? <Badge tone="1xx">in progress</Badge> : <StatusBadge status={view.status} />}
      <Time at={view.receivedAt} zone={usePreferences().time} />
      {view.status !== 0 && <span className="tabular-nums">{formatDuration(view.durationMs)}</span>}
      <span>HTTP/{view.request.httpVersion}</span>
      {view.responseName !== '' && (
        <span>
          Response <span className="font-mono">{view.responseName}</span>
        </span>
      )}
    </p>
  </div>
);
