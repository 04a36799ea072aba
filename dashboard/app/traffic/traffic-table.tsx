import { useVirtualizer, type VirtualItem } from '@tanstack/react-virtual';
import { useEffect, useState, type Key, type MouseEvent, type PointerEvent, type ReactNode } from 'react';
import { classNames } from '../ui/class-names.ts';
import { useHydrated } from '../ui/time.tsx';
import type { FeedItem } from './feed-items.ts';
import { CELL_FIELDS, type CellField } from './filter-terms.ts';
import { GapRow, OlderRow } from './table-notices.tsx';
import { ROW_HEIGHTS, ROW_LOOK, type Column, type Density } from './table-columns.ts';
import { TrafficTableRow } from './traffic-table-row.tsx';
import type { Zone } from '../requests/traffic-row.ts';
import { useBodyPreviews } from './use-body-previews.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { useTableKeys, type TableActions } from './use-table-keys.ts';
import type { OlderState } from './use-older-rows.ts';

interface TrafficTableProps extends TableActions {
  readonly params: ProjectName;
  readonly columns: readonly Column[];
  readonly density: Density;
  readonly zone: Zone;
  readonly now: Date;
  readonly older: { readonly state: OlderState; readonly load: () => void };
  readonly gapUrl: (item: FeedItem, next: FeedItem | undefined) => string;
}

/** The number of rows that the server renders, which fill more than one screen. */
const SERVER_ROWS = 40;
const OVERSCAN = 8;
const HEADER_PX = 28;
/** The list stops following new requests when it is scrolled down this far. */
const FOLLOW_PX = 16;
/** The next page is loaded this many rows before the end. */
const OLDER_ROWS = 80;

const itemKey = (item: FeedItem): string => (item.kind === 'row' ? item.row.id : `gap ${item.below.id}`);
const closestRowId = (target: Element): string | undefined =>
  target.closest<HTMLElement>('[data-traffic-row]')?.dataset['trafficRow'];

const Header = ({ columns }: { readonly columns: readonly Column[] }) => (
  <div
    role="row"
    aria-rowindex={1}
    className={classNames(ROW_LOOK, 'sticky top-0 z-10 h-7 border-b border-line bg-panel text-small text-muted')}
  >
    {columns.map(({ field, label, look, align }, index) => (
      <div
        key={field}
        role="columnheader"
        aria-colindex={index + 1}
        className={classNames('min-w-0 pr-3 last:pr-0', look, align === 'end' && 'justify-end')}
      >
        {label}
      </div>
    ))}
  </div>
);

/** Tracks the cell under the mouse. Touch input has no such cell. */
const useHover = () => {
  const [hovered, setHovered] = useState<{ readonly id: string; readonly field: CellField }>();
  const onPointerOver = ({ target, pointerType }: PointerEvent): void => {
    if (pointerType !== 'mouse' || !(target instanceof Element)) return;
    const id = closestRowId(target);
    const name = target.closest<HTMLElement>('[data-field]')?.dataset['field'];
    const field = CELL_FIELDS.find((known) => known === name);
    setHovered((before) =>
      id === undefined || field === undefined
        ? undefined
        : before?.id === id && before.field === field
          ? before
          : { id, field },
    );
  };
  return { hovered, handlers: { onPointerOver, onPointerLeave: () => setHovered(undefined) } };
};

/**
 * Loads the next page near the end. Returns a scroll handler, which pauses the list when the user scrolls away from the newest
 * request, and resumes it when the user scrolls back.
 */
const useScroll = (props: TrafficTableProps, lastIndex: number): (() => void) => {
  const { feed, state, gridRef, older } = props;
  const isHydrated = useHydrated();
  const isFollowing = state.pausedBy.size === 0;
  useEffect(() => {
    if (isFollowing) gridRef.current?.scrollTo({ top: 0 });
  }, [isFollowing, gridRef]);
  const { load } = older;
  const isNearEnd = lastIndex >= state.items.length - OLDER_ROWS;
  const wantsOlder = isHydrated && state.hasOlder && older.state === 'idle' && isNearEnd;
  useEffect(() => {
    if (wantsOlder) load();
  });
  return () => {
    if ((gridRef.current?.scrollTop ?? 0) > FOLLOW_PX) feed.pause('scrolled');
    else feed.resume('scrolled');
  };
};

/** Returns the beginnings of the bodies of the visible requests, if the list shows them. */
const useVisibleBodies = (
  { params, columns, state: { items } }: TrafficTableProps,
  visible: readonly VirtualItem[],
) => {
  const isShown = columns.some(({ field }) => field === 'body');
  const rows = visible.flatMap(({ index }) => {
    const item = items[index];
    return isShown && item?.kind === 'row' ? [item.row] : [];
  });
  return useBodyPreviews(params, rows);
};

/**
 * Shows the list. Renders only the rows in and near the visible area. The list is a single tab stop, and the arrow keys, `j` and
 * `k` move between rows. Rows are in the normal flow and are shifted together, because the content security policy forbids style
 * attributes in the server's HTML.
 */
export const TrafficTable = (props: TrafficTableProps) => {
  const { state, columns, density, gridRef, older, openId, onOpen } = props;
  const { items, hasOlder } = state;
  const isHydrated = useHydrated();
  const rowHeight = ROW_HEIGHTS[density];
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => gridRef.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => itemKey(items[index] as FeedItem),
    overscan: OVERSCAN,
    // The rows begin below the header, which stays visible.
    scrollMargin: HEADER_PX,
    scrollPaddingStart: HEADER_PX,
    initialRect: { width: 0, height: (SERVER_ROWS - OVERSCAN) * rowHeight },
  });
  useEffect(() => virtualizer.measure(), [virtualizer, rowHeight]);
  const { hovered, handlers } = useHover();
  const keys = useTableKeys({ ...props, scrollTo: (index) => virtualizer.scrollToIndex(index, { align: 'auto' }) });

  const visible = virtualizer.getVirtualItems();
  const bodies = useVisibleBodies(props, visible);
  const onScroll = useScroll(props, visible.at(-1)?.index ?? 0);
  const onClick = ({ target }: MouseEvent): void => {
    const id = target instanceof Element ? closestRowId(target) : undefined;
    const item = items.find((known) => known.kind === 'row' && known.row.id === id);
    if (item?.kind === 'row') onOpen(item.row, false);
  };
  const renderItem = (index: number, key: Key): ReactNode => {
    const item = items[index] as FeedItem;
    const rowIndex = index + 2;
    if (item.kind === 'gap') {
      const url = props.gapUrl(item, items[index + 1]);
      return <GapRow key={key} count={item.count} rowIndex={rowIndex} columns={columns} density={density} url={url} />;
    }
    const { id } = item.row;
    const isActive = keys.activeId === id;
    const hoveredField = hovered?.id === id ? hovered.field : undefined;
    const { zone, now, onFilter } = props;
    return (
      <TrafficTableRow
        key={key}
        id={`row-${id}`}
        row={item.row}
        rowIndex={rowIndex}
        columns={columns}
        zone={zone}
        now={now}
        density={density}
        isActive={isActive}
        onFilter={onFilter}
        body={bodies.get(id)}
        isOpen={openId === id}
        field={isActive ? (keys.field ?? hoveredField) : hoveredField}
      />
    );
  };
  const isActiveShown = visible.some(({ key }) => key === keys.activeId);
  return (
    <div
      ref={gridRef}
      role="grid"
      aria-label="Requests, newest first"
      aria-rowcount={hasOlder ? -1 : items.length + 1}
      aria-colcount={columns.length}
      tabIndex={0}
      {...(isActiveShown && { 'aria-activedescendant': keys.activeDomId })}
      onKeyDown={keys.onKeyDown}
      onScroll={onScroll}
      onClick={onClick}
      {...handlers}
      className="@container min-h-0 flex-1 overflow-y-auto outline-offset-[-2px] [overflow-anchor:none]"
    >
      <Header columns={columns} />
      <div role="rowgroup" {...(isHydrated && { style: { height: virtualizer.getTotalSize() } })}>
        <div
          role="presentation"
          {...(isHydrated && { style: { transform: `translateY(${(visible[0]?.start ?? HEADER_PX) - HEADER_PX}px)` } })}
        >
          {visible.map(({ index, key }) => renderItem(index, key))}
        </div>
      </div>
      {hasOlder && <OlderRow columns={columns} state={older.state} rowIndex={items.length + 2} onRetry={older.load} />}
    </div>
  );
};
