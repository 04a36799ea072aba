import { LIMITS, ownMember } from '@standin/contract';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { Form, Link } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { ErrorSummary, NotSaved } from '../ui/error-summary.tsx';
import { Field } from '../ui/field.tsx';
import type { FormErrors } from '../ui/form-errors.ts';
import type { Unsaved } from '../ui/kept-form.ts';
import { Input } from '../ui/input.tsx';
import type { TimeProps } from '../ui/time.tsx';
import type { Matching } from './plan-purge.server.ts';
import { Selection } from './selection.tsx';
import { PURGE_FIELDS, type PurgeValues } from './purge-values.ts';

export interface PurgePlanProps {
  readonly params: ProjectName;
  readonly values: PurgeValues;
  readonly matching: Matching;
  readonly reason: string;
  readonly onReason: (reason: string) => void;
  /** The errors in the last submission. */
  readonly errors: FormErrors | undefined;
  /** The reason why the last submission failed. */
  readonly unsaved: Unsaved | undefined;
  readonly isSending: boolean;
  readonly zone: TimeProps['zone'];
}

const requests = (count: number): string => `${count.toLocaleString('en')} ${count === 1 ? 'request' : 'requests'}`;

/** Shows what would be deleted. Nothing is deleted until the user types the name of the project. */
export const PurgePlan = (props: PurgePlanProps) => {
  const { params, values, matching, reason, onReason, errors, unsaved, isSending, zone } = props;
  const { q, from, to } = values;
  const filter = values.requests === '' ? { search: q, from, to } : { to };
  const fieldErrors = (name: string): readonly string[] => ownMember(errors?.fields ?? {}, name) ?? [];
  return (
    <section aria-labelledby="plan" className="flex min-w-0 flex-col gap-4 rounded-lg border border-line p-4">
      <div role="status">
        <h3 id="plan" className="text-h2">
          {matching.kind === 'unknown'
            ? 'Number of matching requests unknown'
            : `${requests(matching.count)} ${matching.count === 1 ? 'matches' : 'match'} now`}
        </h3>
        <p className="break-words text-muted">
          {matching.kind === 'unknown' && `${matching.message} `}
          <Selection filter={filter} zone={zone} />{' '}
          <Link
            to={paths.traffic(params, values.requests === '' ? { q, from, to } : { to })}
            className="whitespace-nowrap text-accent underline"
          >
            Show in Traffic
          </Link>
        </p>
      </div>
      <Form method="post" noValidate className="flex flex-col gap-4">
        {/* Hidden fields, so that the purge deletes what is shown here, even if the other form has been changed since. */}
        {PURGE_FIELDS.map((name) => (
          <input key={name} type="hidden" name={name} value={values[name]} />
        ))}
        <NotSaved unsaved={unsaved} done="created" ifUnknown="If the purge was created, it is listed below." />
        {errors !== undefined && <ErrorSummary errors={{ fields: {}, form: errors.form }} />}
        <Field
          label="Reason"
          hint="For the record, for example: erasure request 42."
          errors={fieldErrors('spec.reason')}
        >
          <Input
            name="spec.reason"
            maxLength={LIMITS.purgeReasonLengthMax}
            value={reason}
            onInput={({ currentTarget }) => onReason(currentTarget.value)}
          />
        </Field>
        <Field label={`Type ${params.project} to confirm`} errors={fieldErrors('confirmation')} className="max-w-80">
          <Input mono name="confirmation" />
        </Field>
        <div>
          <Button type="submit" look="danger" disabled={isSending}>
            Delete permanently
          </Button>
        </div>
      </Form>
    </section>
  );
};
