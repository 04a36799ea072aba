import { classNames } from '../ui/class-names.ts';
import { Link } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { ROW_CLASSES, type Column, type Density } from './table-columns.ts';
import { formatCount } from '../requests/traffic-row.ts';
import type { OlderState } from './use-older-rows.ts';

interface NoticeRowProps {
  readonly rowIndex: number;
  readonly columns: readonly Column[];
}

export interface GapRowProps extends NoticeRowProps {
  readonly count: number;
  readonly density: Density;
  /** A link to the time range of the gap. */
  readonly url: string;
}

/** A row in place of requests that are not in the list. It shows their number and links to them. */
export const GapRow = ({ count, rowIndex, columns, density, url }: GapRowProps) => (
  <div
    role="row"
    aria-rowindex={rowIndex}
    data-gap={count}
    className={classNames(
      ROW_CLASSES[density],
      'flex items-center justify-center border-b border-dashed border-control bg-panel text-small text-muted',
    )}
  >
    <span role="gridcell" aria-colspan={columns.length}>
      {formatCount(count)} {count === 1 ? 'request' : 'requests'} arrived too fast to be listed.{' '}
      <Link to={url} className="text-accent underline">
        Show requests
      </Link>
    </span>
  </div>
);

export interface OlderRowProps extends NoticeRowProps {
  readonly state: OlderState;
  readonly onRetry: () => void;
}

/** A row at the end of the list, shown if there are older requests. */
export const OlderRow = ({ state, rowIndex, columns, onRetry }: OlderRowProps) => (
  <div role="rowgroup">
    <div role="row" aria-rowindex={rowIndex} className="flex h-9 items-center justify-center text-small text-muted">
      <span role="gridcell" aria-colspan={columns.length} className="flex items-center gap-2">
        {state === 'failed' ? (
          <>
            Can’t load older requests. <Button onClick={onRetry}>Try again</Button>
          </>
        ) : (
          'Loading older requests…'
        )}
      </span>
    </div>
  </div>
);
