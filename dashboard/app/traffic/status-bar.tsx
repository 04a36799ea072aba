import { Columns3, Download, ListChecks, Pause, Play, RotateCw, Trash2 } from 'lucide-react';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { Menu, MenuCheckbox, MenuDownload, MenuLabel } from '../ui/menu.tsx';
import type { FeedState } from './feed.ts';
import { COLUMNS, isOptional } from './table-columns.ts';
import type { TrafficData } from './traffic-data.ts';
import { formatCount } from '../requests/traffic-row.ts';
import type { HistogramState } from './use-histogram.ts';
import type { TrafficNavigation } from './use-traffic-query.ts';
import type { Connection } from './use-traffic-stream.ts';

export interface StatusBarProps {
  readonly data: TrafficData;
  readonly state: FeedState;
  readonly connection: Connection;
  readonly histogram: HistogramState;
  readonly navigation: TrafficNavigation;
  readonly onTogglePause: () => void;
  /** Returns a URL for the current list, with absolute times. */
  readonly linkToThis: () => string;
}

const EXPORTS = [
  { format: 'ndjson', label: 'NDJSON, full requests and responses' },
  { format: 'har', label: 'HAR, for browsers and proxies' },
  { format: 'csv', label: 'CSV, one line per request' },
] as const;

/** An indicator that is green while the list receives new requests. */
const Light = ({ isOn }: { readonly isOn: boolean }) => (
  <span aria-hidden className={`size-2 rounded-full ${isOn ? 'bg-2xx' : 'bg-control'}`} />
);

/** Describes the state in words. Omits the number of waiting requests, because screen readers would announce every change. */
const describe = ({ data, state, connection }: StatusBarProps): string => {
  if (data.unavailable !== undefined) return 'Unavailable';
  if (data.problem !== undefined) return 'Search error';
  switch (connection.kind) {
    case 'off':
      return 'Not live';
    case 'connecting':
      return 'Connecting…';
    case 'reconnecting':
      return 'Reconnecting…';
    case 'unavailable':
      return 'Unavailable';
    case 'refused':
      return 'No live updates';
    case 'live':
      return state.pausedBy.size > 0 ? 'Paused' : 'Live';
  }
};

const Tail = (props: StatusBarProps) => {
  const { state, connection, onTogglePause } = props;
  const text = describe(props);
  const isPaused = state.pausedBy.size > 0 && connection.kind !== 'off';
  const waiting = isPaused && state.waiting > 0 ? `, ${formatCount(state.waiting)} new` : '';
  return (
    <div data-tail={isPaused ? 'paused' : connection.kind} className="flex items-center gap-2">
      {connection.kind !== 'off' && (
        <Button
          look={waiting === '' ? 'secondary' : 'primary'}
          onClick={onTogglePause}
          title={isPaused ? 'Resume (Space)' : 'Pause (Space)'}
        >
          {isPaused ? <Play aria-hidden /> : <Pause aria-hidden />}
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      )}
      <span className="flex items-center gap-1.5 whitespace-nowrap tabular-nums">
        <Light isOn={text === 'Live'} />
        {text}
        {waiting}
      </span>
      <span role="status" className="sr-only">
        {text}
      </span>
    </div>
  );
};

const Counts = ({ histogram }: Pick<StatusBarProps, 'histogram'>) => {
  if (histogram.kind !== 'shown') return null;
  const { matched, total, isEstimate } = histogram.view;
  return (
    <span
      data-counts
      className="whitespace-nowrap text-muted tabular-nums"
      title={`Matching requests${isEstimate ? ' (estimated from a sample)' : ''} / all requests in this time range`}
    >
      {isEstimate && '≈ '}
      {formatCount(matched)}
      <span className="max-sm:hidden"> / {formatCount(total)}</span>
    </span>
  );
};

/** A menu with the optional columns. A phone has no room for them. */
const ColumnsMenu = ({ navigation: { query, change } }: Pick<StatusBarProps, 'navigation'>) => (
  <Menu
    trigger={
      <Button look="ghost" className="max-md:hidden" aria-label="Columns">
        <Columns3 aria-hidden />
        <span className="max-lg:sr-only">Columns</span>
      </Button>
    }
  >
    <MenuLabel>Columns</MenuLabel>
    {COLUMNS.flatMap(({ field, label }) =>
      !isOptional(field) ? (
        []
      ) : (
        <MenuCheckbox
          key={field}
          checked={query.columns.includes(field)}
          onChange={(isShown) => {
            const others = query.columns.filter((column) => column !== field);
            change({ columns: isShown ? [...others, field] : others }, { replace: true });
          }}
        >
          {label}
        </MenuCheckbox>
      ),
    )}
  </Menu>
);

/** Shows whether the list follows new requests, the number of requests, and the actions for all matching requests. */
export const StatusBar = (props: StatusBarProps) => {
  const { params, q, range } = props.data;
  const isAnyChosen = q !== '' || range.from !== undefined || range.to !== undefined;
  return (
    <div className="flex min-h-10 items-center gap-x-3 border-b border-line px-3 py-1">
      <Tail {...props} />
      <div className="ml-auto flex items-center gap-1">
        <Counts histogram={props.histogram} />
        <CopyButton text={() => Promise.resolve(props.linkToThis())} label="Copy link" />
        <Link
          to={paths.newReplay(params, { q, from: range.from, to: range.to })}
          className={buttonClass('ghost')}
          title={
            isAnyChosen ? 'Replay all matching requests' : 'To replay requests, first set a search or a time range'
          }
        >
          <RotateCw aria-hidden />
          <span className="max-sm:sr-only">Replay these</span>
        </Link>
        <Link
          to={paths.newExpectation(params, { q })}
          // A phone has no room for this link and the next one.
          className={buttonClass('ghost', 'max-sm:hidden')}
          title="Expect a number of requests that match this search"
        >
          <ListChecks aria-hidden />
          <span className="max-lg:sr-only">Expect these…</span>
        </Link>
        <Link
          to={paths.purges(params, { q, from: range.from, to: range.to })}
          className={buttonClass('ghost', 'max-sm:hidden')}
          title="Permanently delete these requests"
        >
          <Trash2 aria-hidden />
          <span className="max-lg:sr-only">Purge these…</span>
        </Link>
        <ColumnsMenu navigation={props.navigation} />
        <Menu
          trigger={
            <Button look="ghost" aria-label="Export">
              <Download aria-hidden />
              <span className="max-sm:sr-only">Export</span>
            </Button>
          }
        >
          {EXPORTS.map(({ format, label }) => (
            <MenuDownload key={format} to={paths.trafficExport(params, { format, q, from: range.from, to: range.to })}>
              {label}
            </MenuDownload>
          ))}
        </Menu>
      </div>
    </div>
  );
};
