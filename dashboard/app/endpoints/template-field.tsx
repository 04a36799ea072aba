import { FieldErrors } from '../ui/field.tsx';

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
  <div className="flex flex-col gap-1">
    <label className="flex gap-2">
      <input
        type="checkbox"
        name={name}
        value={value === '' ? 'CEL' : value}
        defaultChecked={value !== ''}
        onChange={(event) => onChange?.(event.target.checked)}
        className="mt-0.5 size-4 shrink-0 accent-accent"
      />
      <span>
        <span className="font-medium">Template</span>
        <span className="block text-small text-muted">
          Replaces CEL expressions in the body and in header values, such as <code>{'${request.json.id}'}</code> and{' '}
          <code>{"${fake('person.fullName')}"}</code>, with their values. Without it, the response is returned byte for
          byte.
          {body.includes('{{') && (
            <>
              {' '}
              <code>{'{{'}</code> is returned as it is: write an expression as <code>{'${…}'}</code>.
            </>
          )}
        </span>
      </span>
    </label>
    <FieldErrors errors={errors} />
  </div>
);
