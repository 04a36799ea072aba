import type { FormErrors } from '../ui/form-errors.ts';
import { toObjectName } from '../../src/resources/object-name.ts';
import { Form } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { CheckboxField } from '../ui/checkbox-field.tsx';
import { EditedForm } from '../ui/edited-form.tsx';
import { ErrorSummary, NotSaved } from '../ui/error-summary.tsx';
import type { Unsaved } from '../ui/kept-form.ts';
import { Field } from '../ui/field.tsx';
import { Input, Select } from '../ui/input.tsx';
import { useState, type ReactNode } from 'react';
import type { ProjectValues } from './project-values.ts';

export interface ProjectFormProps {
  readonly values: ProjectValues;
  readonly errors: FormErrors | undefined;
  /** The reason why the last submission failed, if the form was not processed. */
  readonly unsaved: Unsaved | undefined;
  /** True if `values` contains changes that are not saved. */
  readonly isChanged: boolean;
  /** The accounts to choose from, as `namespace/name`. */
  readonly accounts: readonly string[];
  /** Properties of an existing project. If they are set, fields that cannot change are omitted or read-only. */
  readonly existing?: { readonly version: string; readonly hasPinnedUri: boolean };
  readonly isSaving: boolean;
  readonly children?: ReactNode;
}

export const ProjectForm = (props: ProjectFormProps) => {
  const { values, errors, unsaved, isChanged, accounts, existing, isSaving, children } = props;
  const [isEdited, setEdited] = useState(isChanged);
  const [title, setTitle] = useState(values['spec.displayName']);
  const fieldErrors = (name: keyof ProjectValues): readonly string[] | undefined => errors?.fields[name];
  return (
    <Form method="post" className="flex max-w-xl flex-col gap-4" noValidate onInput={() => setEdited(true)}>
      <EditedForm isEdited={isEdited} />
      <NotSaved unsaved={unsaved} />
      <ErrorSummary errors={errors} />
      {existing !== undefined && <input type="hidden" name="version" value={existing.version} />}
      <Field label="Name" hint="Shown in the dashboard." errors={fieldErrors('spec.displayName')}>
        <Input
          name="spec.displayName"
          defaultValue={values['spec.displayName']}
          onInput={(event) => setTitle(event.currentTarget.value)}
        />
      </Field>
      {existing === undefined ? (
        <IdentityFields values={values} accounts={accounts} derived={toObjectName(title)} fieldErrors={fieldErrors} />
      ) : (
        <input type="hidden" name="spec.accountRef" value={values['spec.accountRef']} />
      )}
      <Field
        label="Retention"
        optional
        hint="Number of days for which captured requests are kept. A change applies to new requests only."
        errors={fieldErrors('spec.retentionDays')}
      >
        <Input
          name="spec.retentionDays"
          inputMode="numeric"
          defaultValue={values['spec.retentionDays']}
          placeholder="30"
          className="max-w-32"
        />
      </Field>
      <CheckboxField
        label="Metrics"
        hint="Counts the requests of this project separately in the gateways’ Prometheus metrics, which adds about 20 series per gateway."
        name="spec.metrics"
        value="Enabled"
        defaultChecked={values['spec.metrics'] === 'Enabled'}
        errors={fieldErrors('spec.metrics')}
      />
      <Field
        label="Pinned project URI"
        optional
        hint={
          existing?.hasPinnedUri === true
            ? 'Callers’ URLs contain this URI, so it can’t be changed.'
            : `First path segment of all URLs: 16 to 64 lowercase letters, digits and hyphens. ${existing === undefined ? '' : 'Any value except the current URI changes the project’s URLs immediately. '}Pin it to keep the URLs when the project moves to another cluster. It can’t be changed later.`
        }
        errors={fieldErrors('spec.uri')}
      >
        <Input
          mono
          name="spec.uri"
          defaultValue={values['spec.uri']}
          readOnly={existing?.hasPinnedUri === true}
          placeholder="Generated if empty"
        />
      </Field>
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" disabled={isSaving}>
          {existing === undefined ? 'Create project' : 'Save'}
        </Button>
        {children}
      </div>
    </Form>
  );
};

interface IdentityFieldsProps extends Pick<ProjectFormProps, 'values' | 'accounts'> {
  /** The object name if the user does not enter one. */
  readonly derived: string;
  readonly fieldErrors: (name: keyof ProjectValues) => readonly string[] | undefined;
}

/** Fields that cannot change later. */
const IdentityFields = ({ values, accounts, derived, fieldErrors }: IdentityFieldsProps) => (
  <>
    <Field
      label="Object name"
      optional
      hint="Used in manifests, in kubectl and in the URL of the project’s page. It can’t be changed later."
      errors={fieldErrors('metadata.name')}
    >
      <Input
        mono
        name="metadata.name"
        defaultValue={values['metadata.name']}
        placeholder={derived === '' ? 'shop' : derived}
      />
    </Field>
    <Field
      label="Account"
      hint="Callers use its API key. The project is created in its namespace and can’t be moved later."
      errors={fieldErrors('spec.accountRef')}
    >
      <Select name="spec.accountRef" defaultValue={values['spec.accountRef']}>
        {accounts.map((account) => (
          <option key={account}>{account}</option>
        ))}
      </Select>
    </Field>
  </>
);
