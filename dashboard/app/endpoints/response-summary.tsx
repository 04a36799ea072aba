import { StatusBadge } from '../ui/badge.tsx';
import { conditionText } from './condition-values.ts';
import { drawText } from './draw-values.ts';
import type { ResponseValues } from './response-values.ts';

const STATUS_DEFAULT = 200;

export interface ResponseSummaryProps {
  readonly values: ResponseValues;
  /** Whether this is the last response, which may have no conditions. */
  readonly isLast: boolean;
}

/** The name, the conditions and the status of a response, in one line if there is space. */
export const ResponseSummary = ({ values, isLast }: ResponseSummaryProps) => {
  const { name, conditions, draw, cel, kept, status } = values;
  const others = kept.split(', ').filter((field) => field.startsWith('when.'));
  const texts = [...conditions.map(conditionText), drawText(draw), cel, ...others].filter((text) => text !== '');
  return (
    <span className="flex min-w-0 flex-1 flex-wrap items-center gap-x-2 gap-y-0.5">
      <span className="font-mono text-small font-medium break-all">{name}</span>
      <StatusBadge status={/^[1-5]\d\d$/.test(status) ? Number(status) : STATUS_DEFAULT} />
      <span className="line-clamp-2 min-w-0 text-small break-all text-muted">
        {texts.length > 0 ? texts.join(', ') : isLast ? 'all other requests' : 'all requests'}
      </span>
    </span>
  );
};
