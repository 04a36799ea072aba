import type { PurgePhase } from '@standin/contract';
import type { PurgeView } from '../../src/purges/purge-view.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Time, type TimeProps } from '../ui/time.tsx';
import { Selection } from './selection.tsx';

const TONE_OF_PHASE: Readonly<Record<PurgePhase, Tone>> = {
  Pending: '1xx',
  Waiting: '1xx',
  Running: '3xx',
  Completed: '2xx',
  Refused: '5xx',
};

const WaitingFor = ({ waitingFor }: Pick<PurgeView, 'waitingFor'>) => (
  <div className="text-small">
    <p>Waiting for:</p>
    <ul className="list-disc pl-5">
      {waitingFor.map((obstacle) => (
        <li key={obstacle} className="break-words">
          {obstacle}
        </li>
      ))}
    </ul>
  </div>
);

interface PurgeListProps {
  readonly purges: readonly PurgeView[];
  readonly zone: TimeProps['zone'];
}

const PurgeRow = ({ purge, zone }: { readonly purge: PurgeView; readonly zone: TimeProps['zone'] }) => {
  const { name, createdAt, filter, reason, phase, matched, waitingFor, completedAt, message } = purge;
  return (
    <li className="flex min-w-0 flex-col gap-0.5 border-b border-line py-2">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
        <Badge tone={TONE_OF_PHASE[phase]}>{phase}</Badge>
        <span className="min-w-0 break-words">
          <Selection filter={filter} zone={zone} />
        </span>
      </p>
      <p className="break-words">{reason}</p>
      <p className="flex flex-wrap gap-x-3 text-small text-muted">
        {matched !== undefined && (
          <span className="tabular-nums">
            {matched.toLocaleString('en')} {matched === 1 ? 'request' : 'requests'}{' '}
            {phase === 'Completed' ? 'deleted' : 'matched'}
          </span>
        )}
        <span>
          created <Time at={createdAt} zone={zone} />
        </span>
        {completedAt !== undefined && (
          <span>
            completed <Time at={completedAt} zone={zone} />
          </span>
        )}
        <span className="font-mono break-all">{name}</span>
      </p>
      {phase === 'Waiting' && waitingFor.length > 0 ? (
        <WaitingFor waitingFor={waitingFor} />
      ) : (
        phase !== 'Completed' && <p className="text-small break-words">{message}</p>
      )}
    </li>
  );
};

/** Lists the purges of a project. Finished purges stay in the list as a record of the deletions. */
export const PurgeList = ({ purges, zone }: PurgeListProps) => (
  <ul aria-label="Purges" aria-live="polite" className="border-t border-line">
    {purges.map((purge) => (
      <PurgeRow key={purge.uid} purge={purge} zone={zone} />
    ))}
  </ul>
);
