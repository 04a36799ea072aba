import { LIMITS } from '@standin/contract';
import { useEffect, useRef } from 'react';
import type { FormErrors } from '../ui/form-errors.ts';
import { Form, useSubmit } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { ErrorSummary } from '../ui/error-summary.tsx';
import { Field } from '../ui/field.tsx';
import { Input, Select } from '../ui/input.tsx';
import type { BulkValues } from './replay-values.ts';
import { TargetFields } from './target-fields.tsx';

export interface BulkFormProps {
  readonly values: BulkValues;
  readonly errors: FormErrors | undefined;
}

const PAUSE_MS = 300;

/** Updates the plan when the user pauses. The form's values are in the URL. */
const usePlanWhileTyping = () => {
  const submit = useSubmit();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (form: HTMLFormElement): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => submit(form, { replace: true, preventScrollReset: true }), PAUSE_MS);
  };
};

/** Fields for the requests, the target and the rate. */
export const BulkForm = ({ values, errors }: BulkFormProps) => {
  const errorsOf = (name: keyof BulkValues): readonly string[] => errors?.fields[name] ?? [];
  const plan = usePlanWhileTyping();
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
        hint="The same syntax as in Traffic, for example status:>=500 path:/hooks/*"
        errors={errorsOf('q')}
      >
        <Input mono name="q" defaultValue={values.q} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Received from" errors={errorsOf('from')}>
          <Input mono name="from" defaultValue={values.from} />
        </Field>
        <Field label="Until" errors={errorsOf('to')}>
          <Input mono name="to" defaultValue={values.to} />
        </Field>
      </div>
      <TargetFields
        names={{ kind: 'target', url: 'url' }}
        kind={values.target}
        url={values.url}
        upstream="the endpoint’s upstream. Requests to endpoints without an upstream are reported as failed."
        errors={{ kind: errorsOf('target'), url: errorsOf('url') }}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label="Maximum requests per second"
          hint={`1 to ${LIMITS.replayRatePerSecondMax}`}
          errors={errorsOf('rate')}
        >
          <Input name="rate" inputMode="numeric" defaultValue={values.rate} />
        </Field>
        <Field label="Order" errors={errorsOf('order')}>
          <Select name="order" defaultValue={values.order}>
            <option value="Any">Concurrently</option>
            <option value="Original">Sequentially, in the order received</option>
          </Select>
        </Field>
      </div>
      <noscript>
        <Button type="submit">Plan</Button>
      </noscript>
    </Form>
  );
};
