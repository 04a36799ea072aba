import { Copy, ListFilter, ListX } from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from '../ui/class-names.ts';
import { toast } from '../ui/toast.tsx';
import type { CellField } from './filter-terms.ts';
import type { TrafficRow } from '../requests/traffic-row.ts';

export interface ValueActionsProps {
  readonly row: TrafficRow;
  readonly field: CellField;
  readonly onFilter: (row: TrafficRow, field: CellField, isOut: boolean) => void;
}

/** The text to copy. */
const cellText = (row: TrafficRow, field: CellField): string => {
  switch (field) {
    case 'time':
      return row.receivedAt;
    case 'path':
      return row.query === '' ? row.path : `${row.path}?${row.query}`;
    case 'duration':
      return `${row.durationMs} ms`;
    case 'size':
      return String(row.bodyBytes);
    default:
      return String(row[field]);
  }
};

export const copyValue = (row: TrafficRow, field: CellField): void => {
  navigator.clipboard.writeText(cellText(row, field)).then(
    () => toast('Copied'),
    (error: unknown) => toast(`Not copied: ${String(error)}`, 'bad'),
  );
};

interface ActionProps {
  readonly label: string;
  readonly run: () => void;
  readonly children: ReactNode;
}

/** A button that is not a tab stop, because the list has keys for these actions. */
const Action = ({ label, run, children }: ActionProps) => (
  <button
    type="button"
    tabIndex={-1}
    aria-label={label}
    title={label}
    onClick={(event) => {
      event.stopPropagation();
      run();
    }}
    className="inline-flex size-6 items-center justify-center rounded text-muted hover:bg-hover hover:text-text [&_svg]:size-3.5"
  >
    {children}
  </button>
);

const NAMES: Readonly<Partial<Record<CellField, readonly [string, string]>>> = {
  duration: ['Only this duration or longer', 'Only shorter durations'],
  size: ['Only this size or larger', 'Only smaller sizes'],
};

const NARROW: ReadonlySet<CellField> = new Set(['time', 'method', 'status']);

/** Actions that search for a value, exclude it, or copy it. */
export const ValueActions = ({ row, field, onFilter }: ValueActionsProps) => {
  const [only, without] = NAMES[field] ?? [`Only this ${field}`, `Exclude this ${field}`];
  return (
    <span
      className={classNames(
        'absolute top-1/2 z-10 flex -translate-y-1/2 rounded border border-line bg-raised shadow-sm',
        // The actions are shown next to narrow values, because they would otherwise cover the values.
        NARROW.has(field) ? 'left-full -ml-3' : 'right-0.5',
      )}
    >
      {field !== 'time' && (
        <>
          <Action label={`${only} (+)`} run={() => onFilter(row, field, false)}>
            <ListFilter aria-hidden />
          </Action>
          <Action label={`${without} (-)`} run={() => onFilter(row, field, true)}>
            <ListX aria-hidden />
          </Action>
        </>
      )}
      <Action label="Copy" run={() => copyValue(row, field)}>
        <Copy aria-hidden />
      </Action>
    </span>
  );
};
