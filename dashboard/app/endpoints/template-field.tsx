import { CheckboxField } from '../ui/checkbox-field.tsx';

export interface TemplateFieldProps {
  /** The name of the field, such as `spec.json.template`. */
  readonly name: string;
  /** Empty if the response is not a template. */
  readonly value: string;
  /** The body as the user has entered it. */
  readonly body: string;
  readonly errors: readonly string[];
  readonly onChange?: (isTemplate: boolean) => void;
}

/** A switch for the evaluation of expressions in the body and in headers. */
export const TemplateField = ({ name, value, body, errors, onChange }: TemplateFieldProps) => (
  <CheckboxField
    label="Template"
    hint={
      <>
        Replaces CEL expressions in the body and in header values, such as <code>{'${request.json.id}'}</code> and{' '}
        <code>{"${fake('person.fullName')}"}</code>, with their values. Without it, the response is returned byte for
        byte.
        {body.includes('{{') && (
          <>
            {' '}
            <code>{'{{'}</code> is returned as it is: write an expression as <code>{'${…}'}</code>.
          </>
        )}
      </>
    }
    name={name}
    value={value === '' ? 'CEL' : value}
    defaultChecked={value !== ''}
    onChange={(event) => onChange?.(event.target.checked)}
    errors={errors}
  />
);
