import { LIMITS } from '@standin/contract';
import type { FormErrors } from '../ui/form-errors.ts';
import { Form } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { ErrorSummary } from '../ui/error-summary.tsx';
import { Field } from '../ui/field.tsx';
import { Input, Select } from '../ui/input.tsx';
import { useSubmitWhileTyping } from '../ui/use-submit-while-typing.ts';
import type { BulkValues } from './replay-values.ts';
import { TargetFields } from './target-fields.tsx';

export interface BulkFormProps {
  readonly values: BulkValues;
  readonly errors: FormErrors | undefined;
}

/** Fields for the requests, the target, the rate and the order. */
export const BulkForm = ({ values, errors }: BulkFormProps) => {
  const fieldErrors = (name: keyof BulkValues): readonly string[] => errors?.fields[name] ?? [];
  // Submits the form, so that its values are in the URL and the page shows the plan for these values.
  const plan = useSubmitWhileTyping();
  return (
    <Form
      method="get"
      noValidate
      onInput={(event) => plan(event.currentTarget)}
      className="flex min-w-0 flex-col gap-4"
    >
      {errors !== undefined && errors.form.length > 0 && <ErrorSummary errors={{ fields: {}, form: errors.form }} />}
      <Field
        label="Search"
        optional
        hint="The same syntax as in Traffic, for example status:>=500 path:/hooks/*."
        errors={fieldErrors('q')}
      >
        <Input mono name="q" defaultValue={values.q} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Start time" errors={fieldErrors('from')}>
          <Input mono name="from" defaultValue={values.from} />
        </Field>
        <Field label="End time" errors={fieldErrors('to')}>
          <Input mono name="to" defaultValue={values.to} />
        </Field>
      </div>
      <TargetFields
        names={{ kind: 'target', url: 'url' }}
        kind={values.target}
        url={values.url}
        upstream="each endpoint’s upstream. Requests to endpoints without an upstream are not sent."
        errors={{ kind: fieldErrors('target'), url: fieldErrors('url') }}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label="Maximum requests per second"
          hint={`1 to ${LIMITS.replayRatePerSecondMax}`}
          errors={fieldErrors('rate')}
        >
          <Input name="rate" inputMode="numeric" defaultValue={values.rate} />
        </Field>
        <Field label="Order" errors={fieldErrors('order')}>
          <Select name="order" defaultValue={values.order}>
            <option value="Any">Any, several at a time</option>
            <option value="Original">As received, one at a time</option>
          </Select>
        </Field>
      </div>
      <noscript>
        <Button type="submit">Plan</Button>
      </noscript>
    </Form>
  );
};
