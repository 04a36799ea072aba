import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { Badge, StatusBadge } from '../ui/badge.tsx';
import { Time, type TimeProps } from '../ui/time.tsx';
import { targetInWords, TONE_OF_PHASE, type ReplayView } from './replay-view.ts';

export interface ReplayTableProps {
  readonly params: ProjectName;
  readonly replays: readonly ReplayView[];
  readonly zone: TimeProps['zone'];
}

const selectionText = ({ what }: ReplayView): string => {
  if (what.kind === 'many') return what.search === '' ? 'All requests in a time range' : what.search;
  return `${what.isEdited ? 'One edited request' : 'One request'}, ${what.requestId.slice(0, 8)}…`;
};

const count = (value: number): string => value.toLocaleString('en');

const Progress = ({ replay: { what, result, planned, sent, failed } }: { readonly replay: ReplayView }) => {
  if (what.kind === 'one') return result === undefined ? null : <StatusBadge status={result.status} />;
  return (
    <span className="tabular-nums">
      {count(sent)}
      {planned !== undefined && ` of ${count(planned)}`}
      {failed > 0 && <span className="text-5xx">, {count(failed)} without a response</span>}
    </span>
  );
};

/** Lists a project's replays. Each row is a link. */
export const ReplayTable = ({ params, replays, zone }: ReplayTableProps) => (
  <table className="block">
    <thead className="block border-b border-line text-small text-muted max-sm:sr-only">
      <tr className="grid grid-cols-[7rem_minmax(0,2fr)_minmax(0,1.5fr)_minmax(0,1fr)_10rem] [&>th]:px-2 [&>th]:py-1 [&>th]:text-left [&>th]:font-normal">
        <th>Phase</th>
        <th>Requests</th>
        <th>Target</th>
        <th>Sent</th>
        <th>Created</th>
      </tr>
    </thead>
    <tbody className="block">
      {replays.map((replay) => (
        <tr
          key={replay.uid}
          className="relative grid min-h-7 grid-cols-[7rem_minmax(0,1fr)] items-center gap-y-0.5 border-b border-line hover:bg-hover has-focus-visible:bg-selected max-sm:py-1.5 sm:grid-cols-[7rem_minmax(0,2fr)_minmax(0,1.5fr)_minmax(0,1fr)_10rem] [&>td]:px-2"
        >
          <td>
            <Badge tone={TONE_OF_PHASE[replay.phase]}>{replay.phase}</Badge>
          </td>
          <td className="truncate">
            <Link
              to={paths.replay({ ...params, replay: replay.replay })}
              prefetch="intent"
              data-row
              className="after:absolute after:inset-0"
              title={replay.replay}
            >
              {selectionText(replay)}
            </Link>
          </td>
          <td className="truncate text-muted max-sm:col-start-2">{targetInWords(replay)}</td>
          <td className="max-sm:col-start-2">
            <Progress replay={replay} />
          </td>
          <td className="text-muted max-sm:col-start-2">
            <Time at={replay.createdAt} zone={zone} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
