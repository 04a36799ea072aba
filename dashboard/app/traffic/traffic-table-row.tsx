import { memo } from 'react';
import { classNames } from '../ui/class-names.ts';
import { Badge, MethodName, StatusBadge } from '../ui/badge.tsx';
import type { CellField } from './filter-terms.ts';
import { ROW_CLASSES, ROW_LOOK, type Column, type Density } from './table-columns.ts';
import {
  durationShare,
  formatBytes,
  formatDuration,
  formatRowTime,
  type TrafficRow,
  type Zone,
} from '../requests/traffic-row.ts';
import { ValueActions, type ValueActionsProps } from './value-actions.tsx';

const BAR_WIDTH = 48;

const Duration = ({ ms }: { readonly ms: number }) => (
  <>
    <svg aria-hidden width={BAR_WIDTH} height={4} className="mr-2 shrink-0">
      <rect width={BAR_WIDTH} height={4} rx={2} className="fill-line" />
      <rect width={Math.round(durationShare(ms) * BAR_WIDTH)} height={4} rx={2} className="fill-control" />
    </svg>
    <span className="min-w-14 text-right">{formatDuration(ms)}</span>
  </>
);

interface CellProps {
  readonly row: TrafficRow;
  /** The beginning of the request body. Undefined until it is loaded. */
  readonly body: string | undefined;
  readonly zone: Zone;
  readonly now: Date;
}

const Cell = ({ field, row, body, zone, now }: CellProps & Pick<Column, 'field'>) => {
  switch (field) {
    case 'time':
      return (
        <time dateTime={row.receivedAt} title={row.receivedAt} className="truncate font-mono text-small text-muted">
          {formatRowTime(row.receivedAt, zone, now)}
        </time>
      );
    case 'method':
      return <MethodName method={row.method} />;
    case 'status':
      if (row.outcome === 'in_progress')
        return (
          <Badge tone="1xx" icon={false}>
            running
          </Badge>
        );
      return row.status === 0 ? <Badge tone="none">none</Badge> : <StatusBadge status={row.status} />;
    case 'path':
      return (
        <span
          className="truncate font-mono text-small"
          title={row.query === '' ? row.path : `${row.path}?${row.query}`}
        >
          {row.path}
          {row.query !== '' && <span className="text-muted">?{row.query}</span>}
        </span>
      );
    case 'body':
      return (
        <span className="truncate font-mono text-small text-muted" title={body}>
          {body}
        </span>
      );
    case 'id':
      return <span className="truncate font-mono text-small text-muted">{row.id}</span>;
    case 'duration':
      return row.outcome === 'in_progress' ? null : <Duration ms={row.durationMs} />;
    case 'size':
      return formatBytes(row.bodyBytes);
    case 'endpoint': {
      const responder = row.responseName === '' ? row.endpoint : `${row.endpoint} · ${row.responseName}`;
      return (
        <span className="truncate text-muted" title={responder}>
          {responder}
        </span>
      );
    }
  }
};

export interface TrafficTableRowProps extends CellProps {
  readonly id: string;
  /** The number of the row in the table. The header is row 1. */
  readonly rowIndex: number;
  readonly columns: readonly Column[];
  readonly density: Density;
  readonly isActive: boolean;
  readonly isOpen: boolean;
  /** The cell that shows the actions for its value. */
  readonly field: CellField | undefined;
  readonly onFilter: ValueActionsProps['onFilter'];
}

/** Screen readers announce it for a row: `GET /v1/orders, status 200, 12 ms, endpoint list-orders, 10:04:05.123`. */
const accessibleName = ({ row, zone, now }: CellProps): string => {
  const target = row.query === '' ? row.path : `${row.path}?${row.query}`;
  const none = row.outcome === 'in_progress' ? 'in progress' : 'no response';
  const result = row.status === 0 ? none : `status ${row.status}, ${formatDuration(row.durationMs)}`;
  return `${row.method} ${target}, ${result}, endpoint ${row.endpoint}, ${formatRowTime(row.receivedAt, zone, now)}`;
};

/** Shows one request. Memoized, because the list scrolls through thousands of rows. */
export const TrafficTableRow = memo((props: TrafficTableRowProps) => {
  const { id, row, rowIndex, columns, density, isActive, isOpen, field, onFilter } = props;
  return (
    <div
      role="row"
      id={id}
      aria-rowindex={rowIndex}
      aria-selected={isOpen}
      aria-label={accessibleName(props)}
      data-traffic-row={row.id}
      className={classNames(
        ROW_LOOK,
        ROW_CLASSES[density],
        'cursor-pointer border-b border-line',
        isOpen || isActive ? 'bg-selected' : 'hover:bg-panel',
        isActive && 'shadow-[inset_2px_0_0_var(--focus)]',
      )}
    >
      {columns.map((column, index) => (
        <div
          key={column.field}
          role="gridcell"
          id={`${id}-${column.field}`}
          aria-colindex={index + 1}
          data-field={column.field}
          className={classNames(
            'relative h-full min-w-0 items-center pr-3 last:pr-0',
            column.look,
            column.align === 'end' && 'justify-end tabular-nums',
            field === column.field && isActive && 'outline-2 -outline-offset-2 outline-focus',
          )}
        >
          <Cell {...props} field={column.field} />
          {field === column.field && <ValueActions row={row} field={field} onFilter={onFilter} />}
        </div>
      ))}
    </div>
  );
});
TrafficTableRow.displayName = 'TrafficTableRow';
