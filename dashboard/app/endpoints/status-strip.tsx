import { ownMember } from '@standin/contract';
import { Check, CircleDashed, X } from 'lucide-react';
import { classNames } from '../ui/class-names.ts';
import type { ShownCondition } from '../../src/resources/resource-view.ts';
import { conditionTone } from '../ui/condition-list.tsx';

const STEPS = ['Accepted', 'ResolvedRefs', 'Programmed', 'Ready'];

const LABELS: Readonly<Record<string, string>> = { ResolvedRefs: 'References' };

export interface StatusStripProps {
  readonly conditions: readonly ShownCondition[];
  readonly generation: number;
}

/**
 * Shows how far the operator has processed a change. The strip updates without a reload, and screen readers announce changes
 * without interrupting the user.
 */
export const StatusStrip = ({ conditions, generation }: StatusStripProps) => {
  const steps = STEPS.map((type) => {
    const condition = conditions.find((candidate) => candidate.type === type);
    const isCurrent = condition !== undefined && (condition.observedGeneration ?? 0) >= generation;
    const tone = condition !== undefined && isCurrent ? conditionTone(condition) : '1xx';
    return {
      type,
      tone,
      message: condition !== undefined && isCurrent ? condition.message : 'Waiting for the operator.',
    };
  });
  const problem = steps.find(({ tone }) => tone === '5xx');
  return (
    <div role="status" className="flex flex-col gap-2">
      <ol className="flex flex-wrap items-center gap-x-1 gap-y-1.5">
        {steps.map(({ type, tone, message }, index) => (
          <li key={type} className="flex items-center gap-1">
            {index > 0 && <span aria-hidden className="h-px w-3 bg-control sm:w-6" />}
            <span
              title={message}
              data-step={type}
              data-state={tone === '2xx' ? 'done' : tone === '5xx' ? 'failed' : 'waiting'}
              className={classNames(
                'inline-flex h-6 items-center gap-1 rounded-full border px-2 text-small [&_svg]:size-3',
                tone === '2xx' && 'border-transparent bg-2xx-chip text-2xx',
                tone === '5xx' && 'border-transparent bg-5xx-chip text-5xx',
                tone === '1xx' && 'border-line text-muted',
              )}
            >
              {tone === '2xx' ? (
                <Check aria-hidden />
              ) : tone === '5xx' ? (
                <X aria-hidden />
              ) : (
                <CircleDashed aria-hidden />
              )}
              {ownMember(LABELS, type) ?? type}
              <span className="sr-only">{tone === '2xx' ? 'done' : tone === '5xx' ? 'failed' : 'waiting'}</span>
            </span>
          </li>
        ))}
      </ol>
      {problem !== undefined && <p className="break-words text-5xx">{problem.message}</p>}
    </div>
  );
};
