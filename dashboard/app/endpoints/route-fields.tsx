import { METHODS } from '@standin/contract';
import { useState } from 'react';
import { toObjectName } from '../../src/resources/object-name.ts';
import { Field } from '../ui/field.tsx';
import { Input, Select } from '../ui/input.tsx';
import type { FieldsProps } from './mock-fields.tsx';

export interface RouteFieldsProps extends FieldsProps {
  /** False if the object exists. The name of an existing object cannot change. */
  readonly isNew: boolean;
  /** The slug as the user has entered it. */
  readonly slug: string;
  /** The URL of the project, which all URLs of its endpoints start with. Undefined if the operator has not accepted the project. */
  readonly projectUrl: string | undefined;
}

/** Fields for an endpoint's names and route. */
export const RouteFields = ({ values, fieldErrors, isNew, slug, projectUrl }: RouteFieldsProps) => {
  const [title, setTitle] = useState(values['spec.displayName']);
  const derived = toObjectName(title);
  const [, colonName] = /\/:(\w+)/.exec(slug) ?? [];
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Name" errors={fieldErrors('spec.displayName')}>
          <Input
            name="spec.displayName"
            defaultValue={values['spec.displayName']}
            placeholder="Create order"
            onInput={(event) => setTitle(event.currentTarget.value)}
          />
        </Field>
        {isNew && (
          <Field
            label="Object name"
            optional
            hint="Used in manifests, in kubectl and in the log. It can’t be changed later."
            errors={fieldErrors('metadata.name')}
          >
            <Input
              mono
              name="metadata.name"
              defaultValue={values['metadata.name']}
              placeholder={derived === '' ? 'create-order' : derived}
            />
          </Field>
        )}
      </div>
      <div className="grid grid-cols-[6.5rem_minmax(0,1fr)] gap-4">
        <Field label="Method" errors={fieldErrors('spec.method')}>
          <Select name="spec.method" defaultValue={values['spec.method']} className="font-mono text-small">
            {METHODS.map((method) => (
              <option key={method}>{method}</option>
            ))}
          </Select>
        </Field>
        <Field
          label="Path"
          hint={
            <>
              Appended to{' '}
              {projectUrl === undefined ? 'the project’s URL' : <code className="break-all">{projectUrl}</code>}. A
              segment such as <code>{'{id}'}</code> is a parameter.
              {colonName !== undefined && (
                <>
                  {' '}
                  <code>:{colonName}</code> is not: write <code>{`{${colonName}}`}</code>.
                </>
              )}
            </>
          }
          errors={fieldErrors('spec.slug')}
        >
          <Input mono name="spec.slug" defaultValue={values['spec.slug']} />
        </Field>
      </div>
    </>
  );
};
