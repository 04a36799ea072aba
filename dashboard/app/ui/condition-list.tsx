import type { ShownCondition } from '../../src/resources/resource-view.ts';
import { Badge, type Tone } from './badge.tsx';
import { Time, type TimeProps } from './time.tsx';

/** The types that are bad if they are True. */
const BAD: ReadonlySet<string> = new Set(['Failed', 'Stalled']);
/** The types that say whether an operation has ended. They are neither good nor bad. */
const NEUTRAL: ReadonlySet<string> = new Set(['Decided', 'Reconciling']);

/** Returns the tone of a condition. Most types are good if they are True. */
export const conditionTone = ({ type, status }: Pick<ShownCondition, 'type' | 'status'>): Tone => {
  if (status === 'Unknown' || NEUTRAL.has(type)) return '1xx';
  return (status === 'True') === !BAD.has(type) ? '2xx' : '5xx';
};

export interface ConditionListProps {
  readonly conditions: readonly ShownCondition[];
  readonly generation: number;
  readonly zone: TimeProps['zone'];
}

export const ConditionList = ({ conditions, generation, zone }: ConditionListProps) => (
  <ul className="divide-y divide-line rounded-lg border border-line">
    {conditions.map((condition) => {
      const { type, status, reason, message, observedGeneration, lastTransitionTime } = condition;
      return (
        <li key={type} className="flex flex-col gap-1 px-3 py-2.5">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span className="w-28 font-medium">{type}</span>
            <Badge tone={conditionTone(condition)}>{status}</Badge>
            <code className="text-muted">{reason}</code>
            <span className="text-small text-muted sm:ml-auto">
              since <Time at={lastTransitionTime} zone={zone} />
            </span>
          </div>
          <p className="break-words">{message}</p>
          {observedGeneration !== undefined && observedGeneration !== generation && (
            <p className="text-small text-4xx">
              Observed generation {observedGeneration}. The current generation is {generation}.
            </p>
          )}
        </li>
      );
    })}
  </ul>
);
