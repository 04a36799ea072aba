import type { ReplayName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { BackLink } from '../ui/back-link.tsx';
import { Badge } from '../ui/badge.tsx';
import { Time, type TimeProps } from '../ui/time.tsx';
import { targetInWords, TONE_OF_PHASE, type ReplayView } from './replay-view.ts';

export interface ReplayHeadProps {
  readonly params: ReplayName;
  readonly replay: ReplayView;
  readonly zone: TimeProps['zone'];
}

const What = ({ params, replay: { what }, zone }: ReplayHeadProps) => {
  if (what.kind === 'one') {
    return (
      <>
        {what.isEdited ? 'An edited copy of ' : ''}
        <Link to={paths.exchange({ ...params, id: what.requestId })} className="text-accent underline">
          {what.isEdited ? 'this request' : 'This request'}
        </Link>
      </>
    );
  }
  const { search, from, to } = what;
  return (
    <>
      <Link to={paths.traffic(params, { q: search, from, to })} className="text-accent underline">
        {search === '' ? 'All requests' : <code>{search}</code>}
      </Link>{' '}
      from <Time at={from} zone={zone} /> to <Time at={to} zone={zone} />
    </>
  );
};

/** Shows what is sent, the target and the phase. */
export const ReplayHead = (props: ReplayHeadProps) => {
  const { params, replay, zone } = props;
  const { phase, message, createdAt } = replay;
  return (
    <div>
      <BackLink to={paths.replays(params)}>Replays</BackLink>
      <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-1">
        <h1 className="text-h1">Replay</h1>
        <Badge tone={TONE_OF_PHASE[phase]}>{phase}</Badge>
        <code className="text-muted">{replay.replay}</code>
      </div>
      <p className="mt-0.5 break-words">
        <What {...props} /> to <span className="break-all">{targetInWords(replay, replay.what.kind === 'many')}</span>
        <span className="text-muted">
          , <Time at={createdAt} zone={zone} />
        </span>
      </p>
      <p role="status" className={phase === 'Failed' ? 'break-words text-5xx' : 'break-words text-muted'}>
        {message}
      </p>
    </div>
  );
};
