import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { parseInstant } from '@standin/contract';
import type { RequestHistogram } from '../../src/requests/read-histogram.ts';
import { paths } from '../paths.ts';
import { useNavigate, useNavigation } from '../remix.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { usePreferences } from '../shell/preferences.ts';
import { Notice } from '../ui/notice.tsx';
import { useRetryWhile } from '../ui/use-retry-while.ts';
import { TrafficFeed } from './feed.ts';
import type { FeedItem } from './feed-items.ts';
import { filterByCell } from './filter-terms.ts';
import { Histogram } from './histogram.tsx';
import { brushSpan, type Span } from './histogram-view.ts';
import { OpenRequest } from './open-request.tsx';
import { RefusedRequestsLine } from './refused-requests.tsx';
import { SearchBox } from './search-box.tsx';
import { SplitPane } from './split-pane.tsx';
import { shownColumns } from './table-columns.ts';
import { StatusBar } from './status-bar.tsx';
import {
  absoluteRange,
  fixedRange,
  isOpenEnded,
  presetLabel,
  resolveRange,
  widerRange,
  type TimeRange,
} from '../requests/time-range.ts';
import { TimeRangeMenu } from './time-range-menu.tsx';
import type { TrafficData } from './traffic-data.ts';
import { TrafficEmpty } from './traffic-empty.tsx';
import { trafficParams } from './traffic-query.ts';
import { TrafficTable } from './traffic-table.tsx';
import { useHistogram, type HistogramState } from './use-histogram.ts';
import { useOlderRows } from './use-older-rows.ts';
import { useTrafficQuery, type TrafficNavigation } from './use-traffic-query.ts';
import { useTrafficStream, type Connection } from './use-traffic-stream.ts';

/** Returns the feed and its state. Each load of the data starts a new feed. While a request is open, the feed is paused. */
const useFeed = (data: TrafficData, isStopped: boolean, isOpen: boolean) => {
  const start = () => ({ data, feed: new TrafficFeed(data.page, isStopped) });
  const [current, setCurrent] = useState(start);
  // React renders again immediately, so the feed of the previous list is never shown.
  if (current.data !== data) setCurrent(start());
  const { feed } = current;
  const state = useSyncExternalStore(feed.subscribe, feed.state, feed.state);
  useEffect(() => {
    if (isOpen) feed.pause('reading');
    else feed.resume('reading');
  }, [feed, isOpen]);
  return { feed, state };
};

const gapRange = (item: FeedItem, next: FeedItem | undefined): TimeRange => {
  const newest = item.kind === 'gap' ? item.below.receivedAt : '';
  const oldest = next?.kind === 'row' ? parseInstant(next.row.receivedAt) : undefined;
  // The end of a range is exclusive.
  return absoluteRange(oldest, (parseInstant(newest) ?? 0) + 1);
};

/** If an end is missing, the chart's is used. */
const listSpan = ({ since, until }: TrafficData, view: RequestHistogram): Span => {
  const whole = brushSpan(view, { first: 0, last: view.counts.length - 1 });
  return {
    since: since === undefined ? whole.since : new Date(since),
    until: until === undefined ? whole.until : new Date(until),
  };
};

interface ChartProps {
  readonly histogram: HistogramState;
  readonly zone: 'local' | 'utc';
  readonly data: TrafficData;
  readonly navigation: TrafficNavigation;
}

/**
 * Shows the chart in its reserved space. While the next chart loads, the previous one stays, so that it keeps focus. Zooming
 * out first undoes earlier zooms, then widens the range.
 */
const Chart = ({ histogram, zone, data, navigation }: ChartProps) => {
  const zoomed = useRef<TimeRange[]>([]);
  const { change } = navigation;
  const view = histogram.kind === 'failed' ? undefined : histogram.view;
  return (
    <div className="h-[73px] shrink-0">
      {view !== undefined && (
        <Histogram
          view={view}
          zone={zone}
          range={presetLabel(data.range) === undefined ? listSpan(data, view) : undefined}
          onZoom={(since, until) => {
            zoomed.current.push(data.range);
            change({ range: absoluteRange(since.getTime() * 1_000, until.getTime() * 1_000) });
          }}
          onZoomOut={() => {
            const now = new Date();
            const range = zoomed.current.pop() ?? widerRange(resolveRange(data.range, now), now);
            change({ range });
          }}
        />
      )}
      {histogram.kind === 'failed' && <p className="px-3 pt-3 text-muted">{histogram.message}</p>}
    </div>
  );
};

/** Reports that the log is unavailable, or that the list receives no new requests. */
const LogNotice = ({ data, connection }: { readonly data: TrafficData; readonly connection: Connection }) => {
  const unavailable = data.unavailable ?? (connection.kind === 'unavailable' ? connection.message : undefined);
  const refusal = connection.kind === 'refused' ? connection.message : undefined;
  if (unavailable === undefined && refusal === undefined) return null;
  return (
    <div className="border-b border-line p-2">
      <Notice look="bad" alert>
        {unavailable === undefined ? refusal : `${unavailable} Retrying every few seconds.`}
      </Notice>
    </div>
  );
};

/** Shows a project's requests. The state is in the URL, and new requests arrive through the feed. */
export const TrafficScreen = ({ data }: { readonly data: TrafficData }) => {
  const { params, q, range } = data;
  const { time: zone, density } = usePreferences();
  const navigation = useTrafficQuery(params);
  const navigate = useNavigate();
  const { query, change } = navigation;
  const { feed, state } = useFeed(data, query.isPaused, query.sel !== undefined);
  const isLive = isOpenEnded(range) && data.problem === undefined && data.unavailable === undefined;
  const connection = useTrafficStream(feed, { params, q, since: data.since, isLive });
  const isPaused = state.pausedBy.size > 0;
  const histogram = useHistogram(feed, data, !isPaused);
  const older = useOlderRows(feed, data);
  const search = useRef<HTMLInputElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  const isLoading = useNavigation().state === 'loading';
  const now = useMemo(() => new Date(data.loadedAt), [data]);
  const columns = useMemo(() => shownColumns(query.columns), [query.columns]);
  useRetryWhile(data.unavailable !== undefined);
  useShortcuts([{ keys: '/', label: 'Search requests', run: () => search.current?.focus() }]);

  const togglePause = (): void => {
    if (isPaused) feed.resume();
    else feed.pause('stopped');
    if (query.isPaused === isPaused) change({ isPaused: !isPaused }, { replace: true });
  };
  const close = (): void => {
    change({ sel: undefined, tab: '' });
    grid.current?.focus();
  };
  const linkToThis = (): string => {
    const fixed = { ...query, isPaused: false, range: fixedRange(range, new Date()) };
    return new URL(paths.traffic(params, trafficParams(fixed)), location.href).href;
  };

  return (
    <div className="flex h-[calc(100dvh-82px)] min-h-96 flex-col">
      <h1 className="sr-only">Traffic</h1>
      <div className="flex flex-wrap items-start gap-2 px-3 py-2">
        <SearchBox params={params} q={q} range={range} inputRef={search} onSearch={(next) => change({ q: next })} />
        <TimeRangeMenu range={range} zone={zone} onChange={(next) => change({ range: next })} />
      </div>
      <Chart histogram={histogram} zone={zone} data={data} navigation={navigation} />
      <StatusBar
        data={data}
        state={state}
        connection={connection}
        histogram={histogram}
        navigation={navigation}
        linkToThis={linkToThis}
        onTogglePause={togglePause}
      />
      <RefusedRequestsLine params={params} isFirst={data.empty !== undefined} />
      <LogNotice data={data} connection={connection} />
      <SplitPane
        sideLabel="Open request"
        main={
          <div className={`flex min-h-0 flex-1 flex-col ${isLoading ? 'opacity-60' : ''}`}>
            {state.items.length > 0 ? (
              <TrafficTable
                params={params}
                feed={feed}
                state={state}
                columns={columns}
                density={density}
                zone={zone}
                now={now}
                older={older}
                openId={query.sel}
                gridRef={grid}
                gapUrl={(item, next) => paths.traffic(params, trafficParams({ ...query, range: gapRange(item, next) }))}
                onOpen={(row, replace) => change({ sel: row.id }, { replace })}
                onClose={close}
                onReplay={(row) => navigate(paths.replayExchange({ ...params, id: row.id }))}
                onTogglePause={togglePause}
                onFilter={(row, field, isOut) => change({ q: filterByCell(q, row, field, isOut) })}
              />
            ) : (
              <TrafficEmpty
                data={data}
                navigation={navigation}
                isPaused={isPaused}
                waiting={state.waiting}
                onResume={togglePause}
              />
            )}
          </div>
        }
        side={
          query.sel === undefined ? undefined : (
            <OpenRequest data={data} id={query.sel} tab={query.tab} onClose={close} />
          )
        }
      />
    </div>
  );
};
