import { useState } from 'react';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { Form, Link } from '../remix.ts';
import { MethodName, StatusBadge } from '../ui/badge.tsx';
import { Button, buttonClass } from '../ui/button.tsx';
import { ErrorSummary, NotSaved } from '../ui/error-summary.tsx';
import { Field } from '../ui/field.tsx';
import { Input } from '../ui/input.tsx';
import { useFormEdited, type Unsaved } from '../ui/kept-form.ts';
import { Notice } from '../ui/notice.tsx';
import { Time, type TimeProps } from '../ui/time.tsx';
import { Commands } from './commands.tsx';
import type { PlannedRequest, ReplayPlanView } from './plan-replay.server.ts';
import type { ReplayCommands } from './replay-commands.server.ts';
import type { BulkValues } from './replay-values.ts';
import { NOT_TWICE, SubmissionField } from './submission.tsx';
import { inWords, targetInWords } from './replay-view.ts';

export interface BulkPlanProps {
  readonly params: ProjectName;
  readonly values: BulkValues;
  readonly plan: ReplayPlanView;
  readonly commands: ReplayCommands;
  /** The rejected confirmation and its errors. */
  readonly refused: { readonly confirm: readonly string[]; readonly errors: readonly string[] } | undefined;
  /** The reason why the last submission failed. */
  readonly unsaved: Unsaved | undefined;
  /** A new value each time the plan is loaded. */
  readonly submission: string;
  readonly canSend: boolean;
  readonly zone: TimeProps['zone'];
}

const Sample = ({
  sample,
  params,
  zone,
}: Pick<BulkPlanProps, 'params' | 'zone'> & { sample: readonly PlannedRequest[] }) => (
  <ol className="rounded border border-line">
    {sample.map(({ id, method, path, query, status, receivedAt }) => (
      <li
        key={id}
        className="grid min-h-7 grid-cols-[3.5rem_minmax(3.25rem,auto)_minmax(0,1fr)_auto] items-center gap-x-2 border-b border-line px-2 last:border-b-0"
      >
        <MethodName method={method} />
        <span>
          <StatusBadge status={status} />
        </span>
        <Link to={paths.exchange({ ...params, id })} className="truncate font-mono text-small hover:underline">
          <bdi>
            {path}
            {query !== '' && `?${query}`}
          </bdi>
        </Link>
        <span className="text-small text-muted max-sm:hidden">
          <Time at={receivedAt} zone={zone} />
        </span>
      </li>
    ))}
  </ol>
);

/** Shows what would be sent. Nothing is sent until the user types the number of requests. */
export const BulkPlan = (props: BulkPlanProps) => {
  const { params, values, plan, commands, refused, unsaved, submission, canSend, zone } = props;
  const { count, more, seconds, sample } = plan;
  const [isEdited, setEdited] = useState(false);
  useFormEdited(isEdited);
  const number = count.toLocaleString('en');
  if (count === 0) {
    return (
      <div>
        <Notice look="info">No matching requests. Widen the time range or change the search.</Notice>
      </div>
    );
  }
  return (
    <section aria-labelledby="plan" className="flex min-w-0 flex-col gap-4">
      <div role="status">
        <h2 id="plan" className="text-h2">
          {number} {count === 1 ? 'request' : 'requests'} to{' '}
          {targetInWords({ target: values.target, url: values.url }, count > 1)}
        </h2>
        <p className="text-muted">
          At {values.rate} per second, this {seconds < 1 ? 'can take' : 'takes at least'} {inWords(seconds)}.
          {more > 0 && ` ${more.toLocaleString('en')} more match, but a replay sends at most ${number}.`}
          {values.target === 'Endpoint' && ' Each request is captured again and counts against the quota.'}
        </p>
      </div>
      <div className="flex flex-col gap-1">
        <h3 className="font-medium">
          {sample.length < count ? `The first ${sample.length}, oldest first` : 'All requests, oldest first'}
        </h3>
        <Sample sample={sample} params={params} zone={zone} />
      </div>
      <Form
        method="post"
        noValidate
        onInput={() => setEdited(true)}
        className="flex flex-col gap-3 border-t border-line pt-4"
      >
        <SubmissionField opened={submission} />
        <NotSaved unsaved={unsaved} done="sent" ifUnknown={NOT_TWICE} />
        <ErrorSummary errors={refused && { fields: {}, form: refused.errors }} />
        <Field
          label={`Type ${count} to confirm`}
          hint="Each request is sent at least once. If a request changes data, sending it again repeats the change."
          errors={refused?.confirm ?? []}
          className="max-w-64"
        >
          <Input name="confirm" inputMode="numeric" autoComplete="off" />
        </Field>
        <div className="flex flex-wrap gap-2">
          <Button type="submit" look="primary" disabled={!canSend}>
            Send {number} {count === 1 ? 'request' : 'requests'}
          </Button>
          <Link to={paths.replays(params)} className={buttonClass('ghost')}>
            Cancel
          </Link>
        </div>
      </Form>
      <Commands {...commands} />
    </section>
  );
};
