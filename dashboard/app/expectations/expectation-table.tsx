import { countRangeText } from '@standin/contract';
import type { ExpectationView } from '../../src/expectations/expectation-view.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { Badge } from '../ui/badge.tsx';
import { Time, type TimeProps } from '../ui/time.tsx';
import { TONE_OF_PHASE } from './tone-of-phase.ts';

export interface ExpectationTableProps {
  readonly params: ProjectName;
  readonly expectations: readonly ExpectationView[];
  readonly zone: TimeProps['zone'];
}

/** Lists a project's expectations. Each row is a link. */
export const ExpectationTable = ({ params, expectations, zone }: ExpectationTableProps) => (
  <table className="block">
    <thead className="block border-b border-line text-small text-muted max-sm:sr-only">
      <tr className="grid grid-cols-[8rem_minmax(0,2fr)_minmax(0,1fr)_5rem_5rem_10rem] [&>th]:px-2 [&>th]:py-1 [&>th]:text-left [&>th]:font-normal">
        <th>Phase</th>
        <th>Requests</th>
        <th>Expected</th>
        <th>Matched</th>
        <th>Deadline</th>
        <th>Created</th>
      </tr>
    </thead>
    <tbody className="block">
      {expectations.map(({ expectation, uid, createdAt, search, count, deadline, phase, matched }) => (
        <tr
          key={uid}
          className="relative grid min-h-7 grid-cols-[8rem_minmax(0,1fr)] items-center gap-y-0.5 border-b border-line hover:bg-hover has-focus-visible:bg-selected max-sm:py-1.5 sm:grid-cols-[8rem_minmax(0,2fr)_minmax(0,1fr)_5rem_5rem_10rem] [&>td]:px-2"
        >
          <td>
            <Badge tone={TONE_OF_PHASE[phase]}>{phase}</Badge>
          </td>
          <td className="truncate">
            <Link
              to={paths.expectation({ ...params, expectation })}
              prefetch="intent"
              data-row
              className="after:absolute after:inset-0"
              title={expectation}
            >
              {search === '' ? 'All requests' : <bdi>{search}</bdi>}
            </Link>
          </td>
          <td className="text-muted max-sm:col-start-2">{countRangeText(count)}</td>
          <td className="tabular-nums max-sm:col-start-2 max-sm:empty:hidden">
            {matched !== undefined && (
              <>
                {matched.toLocaleString('en')}
                <span className="sm:hidden"> matched</span>
              </>
            )}
          </td>
          <td className="text-muted max-sm:hidden">{deadline}</td>
          <td className="text-muted max-sm:col-start-2">
            <Time at={createdAt} zone={zone} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
