import { useState, type KeyboardEvent, type RefObject } from 'react';
import { useShortcuts } from '../shell/shortcuts.ts';
import type { FeedState, TrafficFeed } from './feed.ts';
import type { FeedItem } from './feed-items.ts';
import { CELL_FIELDS, type CellField } from './filter-terms.ts';
import type { TrafficRow } from '../requests/traffic-row.ts';
import { copyValue, type ValueActionsProps } from './value-actions.tsx';

export interface TableActions {
  readonly feed: TrafficFeed;
  readonly state: FeedState;
  readonly openId: string | undefined;
  readonly gridRef: RefObject<HTMLDivElement>;
  readonly onOpen: (row: TrafficRow, replace: boolean) => void;
  readonly onClose: () => void;
  readonly onReplay: (row: TrafficRow) => void;
  readonly onTogglePause: () => void;
  readonly onFilter: ValueActionsProps['onFilter'];
}

interface TableKeysOptions extends TableActions {
  readonly scrollTo: (index: number) => void;
}

const PAGE = 20;
const MOVES: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  j: 1,
  ArrowUp: -1,
  k: -1,
  PageDown: PAGE,
  PageUp: -PAGE,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

const rowIndex = (items: readonly FeedItem[], id: string | undefined): number =>
  id === undefined ? -1 : items.findIndex((item) => item.kind === 'row' && item.row.id === id);

/** Returns the row that is `by` rows further down, or further up if `by` is negative. Skips gaps. */
const rowAfter = (items: readonly FeedItem[], from: number, by: number) => {
  const last = items.length - 1;
  const start = Math.min(last, Math.max(0, from === -1 ? (by > 0 && Number.isFinite(by) ? by - 1 : by) : from + by));
  for (let index = start; index >= 0 && index <= last; index += by < 0 ? -1 : 1) {
    const item = items[index];
    if (item?.kind === 'row') return { index, row: item.row };
  }
  return undefined;
};

/**
 * Handles the keys of the list. Focus stays on the list, whose `aria-activedescendant` is the active row or its active cell.
 */
export const useTableKeys = (options: TableKeysOptions) => {
  const { feed, state, openId, gridRef, onOpen, onClose, onReplay, onFilter, onTogglePause, scrollTo } = options;
  const { items } = state;
  const [activeId, setActiveId] = useState(openId);
  const [field, setField] = useState<CellField>();
  const [lastOpenId, setLastOpenId] = useState(openId);
  if (lastOpenId !== openId) {
    setLastOpenId(openId);
    if (openId !== undefined) setActiveId(openId);
  }

  const active = (): TrafficRow | undefined => {
    const item = items[rowIndex(items, activeId)];
    return item?.kind === 'row' ? item.row : undefined;
  };
  const move = (by: number): void => {
    const next = rowAfter(items, rowIndex(items, activeId), by);
    if (next === undefined) return;
    feed.pause('reading');
    setActiveId(next.row.id);
    scrollTo(next.index);
    if (openId !== undefined) onOpen(next.row, true);
  };
  const moveCell = (by: 1 | -1): void => {
    // Skip hidden columns.
    const shown = CELL_FIELDS.filter(
      (name) => document.getElementById(`row-${activeId ?? ''}-${name}`)?.offsetParent !== null,
    );
    const at = field === undefined ? (by === 1 ? -1 : shown.length) : shown.indexOf(field);
    setField(shown[Math.min(shown.length - 1, Math.max(0, at + by))]);
  };
  const close = (): void => {
    if (field !== undefined) setField(undefined);
    else if (openId !== undefined) onClose();
    else {
      setActiveId(undefined);
      feed.resume('reading');
    }
  };
  const act = (key: string, row: TrafficRow): boolean => {
    if (key === 'Enter') onOpen(row, false);
    else if (key === 'r') onReplay(row);
    else if (field !== undefined && (key === '+' || key === '=')) onFilter(row, field, false);
    else if (field !== undefined && key === '-') onFilter(row, field, true);
    else return false;
    return true;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget || event.altKey) return;
    const row = active();
    if (event.ctrlKey || event.metaKey) {
      const copies = event.key === 'c' && row !== undefined && field !== undefined && String(getSelection()) === '';
      if (!copies) return;
      copyValue(row, field);
    } else if (Object.hasOwn(MOVES, event.key)) move(MOVES[event.key] ?? 0);
    else if (row !== undefined && (event.key === 'ArrowRight' || event.key === 'ArrowLeft'))
      moveCell(event.key === 'ArrowRight' ? 1 : -1);
    else if (event.key === 'Escape') close();
    else if (event.key === ' ') onTogglePause();
    else if (row === undefined || !act(event.key, row)) return;
    event.preventDefault();
  };
  const focusAndMove = (by: 1 | -1) => (): void => {
    gridRef.current?.focus();
    move(by);
  };
  useShortcuts([
    {
      keys: 'j',
      label: 'Next request (Enter opens it, r replays it, ← → choose a value, + shows only this value, - excludes it)',
      run: focusAndMove(1),
      hidden: true,
    },
    { keys: 'k', label: 'Previous request', run: focusAndMove(-1), hidden: true },
    { keys: 'Escape', label: 'Close request', run: close, hidden: true },
    { keys: 'Space', label: 'Pause or resume', run: onTogglePause },
  ]);
  const isThere = rowIndex(items, activeId) >= 0;
  const domId = `row-${activeId ?? ''}${field === undefined ? '' : `-${field}`}`;
  return { activeId, field, onKeyDown, activeDomId: isThere ? domId : undefined };
};
