import { CircleAlert } from 'lucide-react';
import { createContext, useContext, useId, type ReactNode } from 'react';
import { classNames } from './class-names.ts';

interface ControlIds {
  readonly id: string;
  readonly describedBy: string | undefined;
  readonly isInvalid: boolean;
}

const FieldContext = createContext<ControlIds | undefined>(undefined);

export interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** The field's errors, one sentence each. */
  readonly errors?: readonly string[] | undefined;
  readonly optional?: boolean;
  readonly children: ReactNode;
  readonly className?: string;
}

/** A control with its label, hint and errors, connected for screen readers. */
export const Field = ({ label, hint, errors = [], optional = false, children, className }: FieldProps) => {
  const id = useId();
  const isInvalid = errors.length > 0;
  const described = [hint !== undefined && `${id}-hint`, isInvalid && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div className={classNames('flex min-w-0 flex-col gap-1', className)}>
      <label htmlFor={id} className="font-medium">
        {label}
        {optional && <span className="font-normal text-muted"> (optional)</span>}
      </label>
      <FieldContext.Provider value={{ id, describedBy: described === '' ? undefined : described, isInvalid }}>
        {children}
      </FieldContext.Provider>
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-small text-muted">
          {hint}
        </p>
      )}
      <FieldErrors id={`${id}-error`} errors={errors} />
    </div>
  );
};

export const FieldErrors = ({ id, errors }: { readonly id?: string; readonly errors: readonly string[] }) =>
  errors.length === 0 ? null : (
    <ul id={id} className="flex flex-col gap-0.5 text-small text-5xx">
      {errors.map((error) => (
        <li key={error} className="flex gap-1.5">
          <CircleAlert aria-hidden className="mt-0.5 size-3.5 shrink-0" />
          <span className="min-w-0 break-words">{error}</span>
        </li>
      ))}
    </ul>
  );

export interface ControlProps {
  readonly id?: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: true;
}

/** Returns the attributes for the control inside a `Field`. */
export const useFieldProps = (): ControlProps => {
  const ids = useContext(FieldContext);
  if (ids === undefined) return {};
  const { id, describedBy, isInvalid } = ids;
  return {
    id,
    ...(describedBy !== undefined && { 'aria-describedby': describedBy }),
    ...(isInvalid && { 'aria-invalid': true }),
  };
};
