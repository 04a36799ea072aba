import { ownMember } from '@standin/contract';
import { useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import type { RequestHistogram } from '../../src/requests/read-histogram.ts';
import { toBrush, brushSpan, type Brush } from './histogram-view.ts';

export interface BrushOptions {
  readonly view: RequestHistogram;
  /** Limits the list to this time range. */
  readonly onZoom: (since: Date, until: Date) => void;
  readonly onZoomOut: () => void;
}

/** The selection starts at the bucket `anchor` and ends at the bucket `cursor`. A bucket is one bar of the chart. */
interface Selected {
  readonly anchor: number;
  readonly cursor: number;
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
  Home: -1_000,
  End: 1_000,
};

/** Handles selection in the chart by mouse, touch and keyboard. */
export const useBrush = ({ view, onZoom, onZoomOut }: BrushOptions) => {
  const frame = useRef<HTMLDivElement>(null);
  const [selected, setSelected] = useState<Selected>();
  const [isDragging, setIsDragging] = useState(false);
  const last = view.counts.length - 1;
  const cursor = Math.min(selected?.cursor ?? last, last);
  const brush: Brush = toBrush(Math.min(selected?.anchor ?? cursor, last), cursor);

  const bucketAt = ({ clientX }: PointerEvent): number => {
    const { left = 0, width = 1 } = frame.current?.getBoundingClientRect() ?? {};
    return Math.min(last, Math.max(0, Math.floor(((clientX - left) / width) * view.counts.length)));
  };
  const zoom = (to: Brush): void => {
    const { since, until } = brushSpan(view, to);
    setSelected(undefined);
    onZoom(since, until);
  };
  const onPointerDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const bucket = bucketAt(event);
    setSelected({ anchor: bucket, cursor: bucket });
    setIsDragging(true);
  };
  const onPointerMove = (event: PointerEvent): void => {
    const bucket = bucketAt(event);
    if (isDragging) setSelected((before) => ({ anchor: before?.anchor ?? bucket, cursor: bucket }));
    else if (event.pointerType === 'mouse') setSelected({ anchor: bucket, cursor: bucket });
  };
  const onPointerUp = (): void => {
    if (!isDragging) return;
    setIsDragging(false);
    zoom(brush);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = ownMember(STEPS, event.key);
    if (step !== undefined) {
      const next = Math.min(last, Math.max(0, cursor + step));
      setSelected({ anchor: event.shiftKey ? (selected?.anchor ?? cursor) : next, cursor: next });
    } else if (event.key === 'Enter') zoom(brush);
    else if (event.key === 'Backspace') onZoomOut();
    else if (event.key === 'Escape' && selected !== undefined) setSelected(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return {
    frame,
    brush,
    cursor,
    isSelecting: selected !== undefined,
    handlers: {
      onPointerDown,
      onPointerMove,
      onPointerUp,
      onKeyDown,
      onPointerCancel: () => setIsDragging(false),
      onPointerLeave: () => {
        if (!isDragging) setSelected(undefined);
      },
      onBlur: () => setSelected(undefined),
    },
  };
};
