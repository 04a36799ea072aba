import { ZoomOut } from 'lucide-react';
import { useBrush, type BrushOptions } from './use-brush.ts';
import { formatCount, formatInstant, formatTick, type Zone } from '../requests/traffic-row.ts';
import type { RequestHistogram } from '../../src/requests/read-histogram.ts';
import { describeBrush, HISTOGRAM_CLASSES, stackHeights, total, brushSpan, type Span } from './histogram-view.ts';

interface HistogramProps extends BrushOptions {
  readonly zone: Zone;
  /** The range of the list, if it was selected in the chart or has no name for another reason. */
  readonly range: Span | undefined;
}

const HEIGHT = 48;
const BAR = 8;
const GAP = 1;
/** The minimum height of a part of a bar, which is two pixels as a fraction of the chart's height. */
const VISIBLE_MIN = 2 / HEIGHT;

const FILLS: Readonly<Record<string, string>> = {
  none: 'fill-(--none)',
  '1xx': 'fill-1xx',
  '2xx': 'fill-2xx',
  '3xx': 'fill-3xx',
  '4xx': 'fill-4xx',
  '5xx': 'fill-5xx',
};

const Bars = ({ view }: { readonly view: RequestHistogram }) => {
  const highest = Math.max(1, ...view.counts.map(total));
  return view.counts.map((counts, bucket) => {
    let y = HEIGHT;
    return stackHeights(counts, highest, VISIBLE_MIN).map((share, index) => {
      const name = HISTOGRAM_CLASSES[index] ?? 'none';
      const height = share * HEIGHT;
      y -= height;
      return height === 0 ? null : (
        <rect
          key={`${bucket} ${name}`}
          x={bucket * BAR}
          y={y}
          width={BAR - GAP}
          height={height}
          className={FILLS[name]}
        />
      );
    });
  });
};

/** Marks the part of the chart that the list shows. The chart can be longer, because it consists of whole bars. */
const SelectedRange = ({ view, range }: { readonly view: RequestHistogram; readonly range: Span }) => {
  const end = view.counts.length * BAR;
  const toX = (time: Date): number =>
    Math.min(end, Math.max(0, ((time.getTime() - Date.parse(view.from)) / view.widthMs) * BAR));
  const start = toX(range.since);
  return <rect x={start} y={0} width={toX(range.until) - start} height={HEIGHT} className="fill-selected" />;
};

/**
 * Shows the data of the chart, without empty buckets, as a table that only screen readers present. The class `sr-only` is on a box
 * around the table, so that the box limits the width of the table.
 */
const Table = ({ view, zone }: Pick<HistogramProps, 'view' | 'zone'>) => (
  <div className="sr-only">
    <table>
      <caption>Requests over time by status class</caption>
      <thead>
        <tr>
          <th scope="col">From</th>
          {HISTOGRAM_CLASSES.map((name) => (
            <th key={name} scope="col">
              {name === 'none' ? 'no response' : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {view.counts.map((counts, bucket) =>
          total(counts) === 0 ? null : (
            <tr key={bucket}>
              <th scope="row">{formatInstant(brushSpan(view, { first: bucket, last: bucket }).since, zone)}</th>
              {counts.map((count, index) => (
                <td key={index}>{formatCount(count)}</td>
              ))}
            </tr>
          ),
        )}
      </tbody>
    </table>
  </div>
);

/** Shows requests over time. Users select a time range by dragging, or with Shift and the arrow keys. */
export const Histogram = ({ view, zone, range, onZoom, onZoomOut }: HistogramProps) => {
  const { frame, brush, isSelecting, cursor, handlers } = useBrush({ view, onZoom, onZoomOut });
  const last = view.counts.length - 1;
  const text = describeBrush(view, brush, zone);
  const whole = { first: 0, last };
  const { since, until } = brushSpan(view, whole);
  const span = until.getTime() - since.getTime();
  const width = view.counts.length * BAR;
  // A phone has room either for the times of the axis or for the range.
  const tickLook = range === undefined ? 'shrink-0' : 'shrink-0 max-sm:hidden';
  return (
    <div className="px-3">
      <div
        ref={frame}
        role="slider"
        tabIndex={0}
        aria-label="Requests over time. Use the arrow keys to move, Shift with the arrow keys to select, Enter to zoom in, and Backspace to zoom out"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={cursor}
        aria-valuetext={text}
        title={isSelecting ? text : undefined}
        {...handlers}
        className="relative h-12 cursor-crosshair touch-none border-b border-line select-none"
      >
        <svg
          aria-hidden
          viewBox={`0 0 ${width} ${HEIGHT}`}
          preserveAspectRatio="none"
          className="absolute inset-0 size-full"
        >
          {isSelecting && (
            <rect
              x={brush.first * BAR}
              y={0}
              width={(brush.last - brush.first + 1) * BAR}
              height={HEIGHT}
              className="fill-selected"
            />
          )}
          {!isSelecting && range !== undefined && <SelectedRange view={view} range={range} />}
          <Bars view={view} />
        </svg>
      </div>
      <div className="flex h-6 items-center justify-between gap-2 text-small text-muted tabular-nums">
        <span aria-hidden className={tickLook}>
          {formatTick(since, zone, span)}
        </span>
        {(isSelecting || range !== undefined) && (
          <span className="flex min-w-0 items-center gap-1">
            <span aria-hidden className="truncate">
              {isSelecting ? text : describeBrush(view, whole, zone, range)}
            </span>
            {range !== undefined && (
              <button
                type="button"
                onClick={onZoomOut}
                title="Zoom out (Backspace in the chart)"
                className="flex h-6 shrink-0 items-center gap-1 rounded px-1.5 text-accent hover:bg-hover"
              >
                <ZoomOut aria-hidden className="size-3.5" /> Zoom out
              </button>
            )}
          </span>
        )}
        <span aria-hidden className={tickLook}>
          {formatTick(until, zone, span)}
        </span>
      </div>
      <Table view={view} zone={zone} />
    </div>
  );
};
