import { useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react';
import { useIsWide } from '../ui/use-is-wide.ts';

export interface SplitPaneProps {
  readonly main: ReactNode;
  /** The pane next to `main`. On a narrow screen, it covers `main`. */
  readonly side: ReactNode | undefined;
  readonly sideLabel: string;
}

/** The width of the side pane, in percent, until the user changes it. Must match the classes of the pane. */
const SIZE_DEFAULT = 45;
const SIZE_DEFAULT_WIDE = 55;
const SIZE_MIN = 25;
const SIZE_MAX = 75;
const STEP = 5;

const clamp = (size: number): number => Math.min(SIZE_MAX, Math.max(SIZE_MIN, Math.round(size)));

/**
 * Shows two panes with a border that can be dragged or moved with the arrow keys. Does not use react-resizable-panels, because that
 * package is as large as this whole screen and writes style attributes into the server's HTML. The content security policy forbids
 * such attributes.
 */
export const SplitPane = ({ main, side, sideLabel }: SplitPaneProps) => {
  const frame = useRef<HTMLDivElement>(null);
  const isWide = useIsWide();
  const [chosen, setSize] = useState<number>();
  const size = chosen ?? (isWide ? SIZE_DEFAULT_WIDE : SIZE_DEFAULT);
  const [isDragging, setIsDragging] = useState(false);
  const onPointerDown = (event: PointerEvent): void => {
    event.currentTarget.setPointerCapture(event.pointerId);
    setIsDragging(true);
  };
  const onPointerMove = ({ clientX }: PointerEvent): void => {
    const box = frame.current?.getBoundingClientRect();
    if (isDragging && box !== undefined) setSize(clamp(((box.right - clientX) / box.width) * 100));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowLeft') setSize(clamp(size + STEP));
    else if (event.key === 'ArrowRight') setSize(clamp(size - STEP));
    else return;
    event.preventDefault();
  };
  return (
    <div ref={frame} className="relative flex min-h-0 flex-1">
      <div className="flex min-w-0 flex-1 flex-col">{main}</div>
      {side !== undefined && (
        <>
          <div
            role="separator"
            aria-orientation="vertical"
            aria-label="Request panel width"
            aria-valuenow={size}
            aria-valuemin={SIZE_MIN}
            aria-valuemax={SIZE_MAX}
            tabIndex={0}
            onPointerDown={onPointerDown}
            onPointerMove={onPointerMove}
            onPointerUp={() => setIsDragging(false)}
            onPointerCancel={() => setIsDragging(false)}
            onKeyDown={onKeyDown}
            className="w-1 shrink-0 cursor-col-resize touch-none border-l border-line hover:bg-hover max-md:hidden"
          />
          <section
            aria-label={sideLabel}
            {...(chosen !== undefined && { style: { width: `${chosen}%` } })}
            className="flex min-h-0 w-[45%] shrink-0 min-[1600px]:w-[55%] flex-col overflow-y-auto bg-page max-md:absolute max-md:inset-0 max-md:z-20 max-md:w-full!"
          >
            {side}
          </section>
        </>
      )}
    </div>
  );
};
