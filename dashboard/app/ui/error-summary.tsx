import { useEffect, useRef } from 'react';
import { Button } from './button.tsx';
import type { FormErrors } from './form-errors.ts';
import { Notice } from './notice.tsx';

export interface ErrorSummaryProps {
  readonly errors: FormErrors | undefined;
  /** What the errors prevented, such as `Not sent`. */
  readonly outcome?: string;
}

/** Returns the control that users see: a text area is hidden while a code editor, which follows it, shows its text. */
const controlOf = (field: HTMLElement | null): HTMLElement | null | undefined =>
  field?.hidden === true ? field.nextElementSibling?.querySelector<HTMLElement>('[contenteditable]') : field;

/**
 * A summary above a rejected form. Focuses the first invalid field, or itself if no field is invalid, so that users notice the
 * rejection.
 */
export const ErrorSummary = ({ errors, outcome = 'Not saved' }: ErrorSummaryProps) => {
  const box = useRef<HTMLDivElement>(null);
  const count = errors === undefined ? 0 : Object.keys(errors.fields).length + errors.form.length;
  useEffect(() => {
    if (count === 0) return;
    const first = document.querySelector<HTMLElement>('[aria-invalid=true]');
    (controlOf(first) ?? box.current)?.focus();
  }, [errors, count]);
  if (errors === undefined || count === 0) return null;
  return (
    <div ref={box} tabIndex={-1} className="outline-none">
      <Notice look="bad" alert>
        {errors.form.length === 0 ? (
          `${outcome}: fix ${count === 1 ? '1 field' : `${count} fields`}.`
        ) : (
          <ul>
            {errors.form.map((message) => (
              <li key={message}>{message}</li>
            ))}
          </ul>
        )}
      </Notice>
    </div>
  );
};

/** A message above a form that could not be submitted, with a button that submits it again. */
export const NotSaved = ({ reason }: { readonly reason: string | undefined }) =>
  reason !== undefined && (
    <Notice look="bad" alert>
      <p>Not saved. {reason} The form keeps your input.</p>
      <Button type="submit" className="mt-2">
        Try again
      </Button>
    </Notice>
  );
