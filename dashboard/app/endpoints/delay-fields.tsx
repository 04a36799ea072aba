import { DELAY_TYPES, ownMember } from '@standin/contract';
import { Field } from '../ui/field.tsx';
import { Input, Select } from '../ui/input.tsx';
import type { DelayDuration, DelayValues } from './delay-values.ts';
import type { ErrorLookup } from './form-rows.tsx';

const TYPES: Readonly<Record<string, string>> = {
  Fixed: 'Fixed',
  Uniform: 'Uniform: between two limits',
  LogNormal: 'Log-normal: mostly short, sometimes long',
};

const DURATIONS: readonly (readonly [type: string, field: DelayDuration, label: string, example: string])[] = [
  ['Fixed', 'fixed', 'Duration', '200ms'],
  ['Uniform', 'uniform.min', 'Shortest', '10ms'],
  ['Uniform', 'uniform.max', 'Longest', '50ms'],
  ['LogNormal', 'logNormal.median', 'Median', '120ms'],
  ['LogNormal', 'logNormal.p99', '99th percentile', '900ms'],
];

export interface DelayFieldsProps {
  /** The path of the delay, such as `spec.json.delay`. */
  readonly path: string;
  readonly values: DelayValues;
  readonly fieldErrors: ErrorLookup;
}

/** Fields for how long a response is held back. Only those for the selected type are shown, even without JavaScript. */
export const DelayFields = ({ path, values, fieldErrors }: DelayFieldsProps) => (
  <div data-delay className="grid gap-4 sm:grid-cols-[minmax(0,2fr)_minmax(0,1fr)_minmax(0,1fr)]">
    <Field label="Delay" optional errors={[...fieldErrors(path), ...fieldErrors(`${path}.type`)]}>
      <Select name={`${path}.type`} defaultValue={values.type}>
        <option value="">None</option>
        {[...new Set([...DELAY_TYPES, ...(values.type === '' ? [] : [values.type])])].map((type) => (
          <option key={type} value={type}>
            {ownMember(TYPES, type) ?? type}
          </option>
        ))}
      </Select>
    </Field>
    {DURATIONS.map(([type, field, label, example]) => (
      <div key={field} data-shows={type}>
        <Field label={label} errors={fieldErrors(`${path}.${field}`)}>
          <Input mono name={`${path}.${field}`} defaultValue={values[field]} placeholder={example} />
        </Field>
      </div>
    ))}
  </div>
);
