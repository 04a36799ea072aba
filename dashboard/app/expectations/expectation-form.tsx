import type { ReactNode } from 'react';
import { Form } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { EditedForm } from '../ui/edited-form.tsx';
import { ErrorSummary, NotSaved } from '../ui/error-summary.tsx';
import { Field } from '../ui/field.tsx';
import type { FormErrors } from '../ui/form-errors.ts';
import { Input } from '../ui/input.tsx';
import type { Unsaved } from '../ui/kept-form.ts';
import type { ExpectationValues } from './expectation-values.ts';

export interface ExpectationFormProps {
  readonly values: ExpectationValues;
  readonly errors: FormErrors | undefined;
  /** The reason why the last submission failed, if the form was not processed. */
  readonly unsaved: Unsaved | undefined;
  readonly isSending: boolean;
  readonly children?: ReactNode;
}

export const ExpectationForm = ({ values, errors, unsaved, isSending, children }: ExpectationFormProps) => {
  const field = (name: keyof ExpectationValues) => ({ name, defaultValue: values[name] });
  const fieldErrors = (name: keyof ExpectationValues): readonly string[] | undefined => errors?.fields[name];
  return (
    <Form method="post" noValidate className="flex max-w-xl flex-col gap-4">
      <EditedForm isEdited={errors !== undefined} />
      <NotSaved unsaved={unsaved} done="created" ifUnknown="If it was created, Expectations lists it." />
      <ErrorSummary errors={errors} outcome="Not created" />
      <Field
        label="Search"
        optional
        hint="The same syntax as in Traffic. Default: all requests of the project."
        errors={fieldErrors('spec.filter.search')}
      >
        <Input mono {...field('spec.filter.search')} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Minimum" optional hint="Default: 0." errors={fieldErrors('spec.count.min')}>
          <Input inputMode="numeric" {...field('spec.count.min')} />
        </Field>
        <Field
          label="Maximum"
          optional
          hint="0 means that no request may match. Default: no maximum."
          errors={fieldErrors('spec.count.max')}
        >
          <Input inputMode="numeric" {...field('spec.count.max')} />
        </Field>
        <Field
          label="Start time"
          optional
          hint="For example 2026-11-21T09:00:00Z, or 10m for ten minutes ago. Default: now."
          errors={fieldErrors('spec.from')}
        >
          <Input mono {...field('spec.from')} />
        </Field>
        <Field
          label="Deadline"
          hint="How long from now requests are counted, for example 2m. With a maximum, the expectation is decided after that."
          errors={fieldErrors('spec.deadline')}
        >
          <Input mono {...field('spec.deadline')} />
        </Field>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" disabled={isSending}>
          Create expectation
        </Button>
        {children}
      </div>
    </Form>
  );
};
