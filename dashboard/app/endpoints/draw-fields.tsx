import { Field } from '../ui/field.tsx';
import { Input, Textarea } from '../ui/input.tsx';
import type { DrawValues } from './draw-values.ts';
import type { ErrorLookup } from './form-rows.tsx';

export interface DrawFieldsProps {
  /** The path of the draw, such as `spec.responses[0].draw`. */
  readonly path: string;
  readonly values: DrawValues;
  readonly fieldErrors: ErrorLookup;
}

/** Fields for a condition that some requests meet, always the same ones. */
export const DrawFields = ({ path, values, fieldErrors }: DrawFieldsProps) => (
  <div className="grid gap-4 sm:grid-cols-3">
    <Field
      label="Percent of requests"
      optional
      hint="How many meet this condition, such as 5 or 0.5. They are always the same ones."
      errors={[...fieldErrors(path), ...fieldErrors(`${path}.percent`)]}
    >
      <Input name={`${path}.percent`} inputMode="decimal" defaultValue={values.percent} placeholder="100" />
    </Field>
    <Field
      label="Key"
      optional
      hint="In CEL, such as path.id. Requests with the same key are treated alike."
      errors={fieldErrors(`${path}.key`)}
    >
      <Textarea name={`${path}.key`} defaultValue={values.key} className="field-sizing-content max-h-40" />
    </Field>
    <Field
      label="Seed"
      optional
      hint="Responses with the same seed and key get the same requests."
      errors={fieldErrors(`${path}.seed`)}
    >
      <Input mono name={`${path}.seed`} defaultValue={values.seed} />
    </Field>
  </div>
);
