import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import { useHydrated } from '../ui/time.tsx';
import { bodyBytes } from './body-views.ts';
import type { BodyView } from './exchange-view.ts';
import { HEX_ROW_BYTES, hexRow } from './hex-rows.ts';

const ROW_PX = 18;
/** The number of rows in the server's HTML, enough to fill the frame. */
const ROWS_FIRST = 25;
const OVERSCAN = 12;

const Row = ({ bytes, index }: { readonly bytes: Uint8Array; readonly index: number }) => {
  const { offset, hex, text } = hexRow(bytes, index);
  return (
    <>
      <span className="text-muted">{offset}</span>
      <span className="w-[48ch]">{hex}</span>
      <span>{text}</span>
    </>
  );
};

/** Shows offsets, bytes and characters. After hydration, renders only the rows in and near the visible area. */
export const HexView = ({ label, body }: { readonly label: string; readonly body: BodyView }) => {
  const bytes = useMemo(() => bodyBytes(body), [body]);
  const frame = useRef<HTMLDivElement>(null);
  const hydrated = useHydrated();
  const count = Math.ceil(bytes.length / HEX_ROW_BYTES);
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
  });
  return (
    <div
      ref={frame}
      role="region"
      aria-label={label}
      tabIndex={0}
      className="max-h-[466px] overflow-auto rounded border border-line p-2"
    >
      {hydrated ? (
        <pre className="relative w-max min-w-full" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => (
            <span key={index} data-hex-row className="absolute left-0 flex gap-4" style={{ top: start }}>
              <Row bytes={bytes} index={index} />
            </span>
          ))}
        </pre>
      ) : (
        // These rows have no positions, because the content security policy forbids style attributes in the server's HTML.
        <pre className="w-max min-w-full">
          {Array.from({ length: Math.min(count, ROWS_FIRST) }, (_, index) => (
            <span key={index} className="flex gap-4">
              <Row bytes={bytes} index={index} />
            </span>
          ))}
        </pre>
      )}
    </div>
  );
};
