import { Form } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { ErrorSummary } from '../ui/error-summary.tsx';
import { Field } from '../ui/field.tsx';
import type { FormErrors } from '../ui/form-errors.ts';
import { Input } from '../ui/input.tsx';
import { RadioCards } from '../ui/radio-cards.tsx';
import { useSubmitWhileTyping } from '../ui/use-submit-while-typing.ts';
import type { PurgeValues } from './purge-values.ts';

export interface PurgeFormProps {
  readonly values: PurgeValues;
  readonly errors: FormErrors | undefined;
}

/** Selects the requests of a new purge. Submits its values to the URL, so that the page previews the selection. */
export const PurgeForm = ({ values, errors }: PurgeFormProps) => {
  const fieldErrors = (name: keyof PurgeValues): readonly string[] => errors?.fields[name] ?? [];
  const preview = useSubmitWhileTyping();
  return (
    <Form
      method="get"
      noValidate
      onInput={(event) => preview(event.currentTarget)}
      className="group flex min-w-0 flex-col gap-4"
    >
      {errors !== undefined && errors.form.length > 0 && <ErrorSummary errors={{ fields: {}, form: errors.form }} />}
      <RadioCards
        legend="Requests"
        name="requests"
        choices={[
          { value: '', label: 'Matching requests', hint: 'Requests that match a search, a time range, or both.' },
          { value: 'All', label: 'All requests', hint: 'The whole log of this project.' },
        ]}
        defaultValue={values.requests}
        errors={fieldErrors('requests')}
      />
      <div className="flex flex-col gap-4 group-has-[input[value=All]:checked]:hidden">
        <Field
          label="Search"
          optional
          hint={
            <>
              The same syntax as in Traffic. The search is kept in the record of the purge. Instead of personal data,
              use ids (<code>id:…</code>) or a time range where you can.
            </>
          }
          errors={fieldErrors('q')}
        >
          <Input mono name="q" defaultValue={values.q} />
        </Field>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field
            label="Start time"
            optional
            hint="For example 2026-11-21T09:00:00Z, or 2h for two hours ago."
            errors={fieldErrors('from')}
          >
            <Input mono name="from" defaultValue={values.from} />
          </Field>
          <Field label="End time" optional hint="Default: now." errors={fieldErrors('to')}>
            <Input mono name="to" defaultValue={values.to} />
          </Field>
        </div>
      </div>
      <noscript>
        <Button type="submit">Preview</Button>
      </noscript>
    </Form>
  );
};
