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

/** Fields for a condition that a percentage of the requests meets. */
export const DrawFields = ({ path, values, fieldErrors }: DrawFieldsProps) => (
  <fieldset className="flex min-w-0 flex-col gap-1">
    <legend className="mt-2 mb-1 font-medium">
      Draw <span className="font-normal text-muted">(optional)</span>
    </legend>
    <div className="grid gap-4 sm:grid-cols-[7rem_minmax(0,2fr)_minmax(0,1fr)]">
      <Field label="Percentage" errors={[...fieldErrors(path), ...fieldErrors(`${path}.percent`)]}>
        <Input name={`${path}.percent`} inputMode="decimal" defaultValue={values.percent} placeholder="5" />
      </Field>
      <Field label="Key of the draw" errors={fieldErrors(`${path}.key`)}>
        <Textarea
          name={`${path}.key`}
          defaultValue={values.key}
          rows={1}
          className="field-sizing-content max-h-40 min-h-7"
          placeholder="path.id"
        />
      </Field>
      <Field label="Seed" errors={fieldErrors(`${path}.seed`)}>
        <Input mono name={`${path}.seed`} defaultValue={values.seed} placeholder="pr-42" />
      </Field>
    </div>
    <p className="text-small text-muted">
      Only this percentage of the requests meets the condition, and always the same ones. Requests with the same key, a
      CEL expression, get the same result.
    </p>
  </fieldset>
);
