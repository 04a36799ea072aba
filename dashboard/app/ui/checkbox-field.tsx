import type { InputHTMLAttributes, ReactNode } from 'react';
import { FieldErrors } from './field.tsx';

export interface CheckboxFieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'type' | 'className'> {
  readonly label: string;
  readonly hint: ReactNode;
  readonly errors?: readonly string[] | undefined;
}

/** A checkbox with its label, hint and errors. */
export const CheckboxField = ({ label, hint, errors = [], ...rest }: CheckboxFieldProps) => (
  <div className="flex flex-col gap-1">
    <label className="flex gap-2">
      <input type="checkbox" className="mt-0.5 size-4 shrink-0 accent-accent" {...rest} />
      <span>
        <span className="font-medium">{label}</span>
        <span className="block text-small text-muted">{hint}</span>
      </span>
    </label>
    <FieldErrors errors={errors} />
  </div>
);
