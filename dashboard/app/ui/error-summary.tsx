import { useEffect, useRef, type ReactNode } from 'react';
import { Button } from './button.tsx';
import type { FormErrors } from './form-errors.ts';
import { failureText, useFormEdited, type Unsaved } from './kept-form.ts';
import { Notice } from './notice.tsx';

export interface ErrorSummaryProps {
  readonly errors: FormErrors | undefined;
  /** What the errors prevented, such as `Not sent`. */
  readonly outcome?: string;
}

/** A text area is hidden while a code editor, which follows it, shows its text. */
const visibleControl = (field: HTMLElement | null): HTMLElement | null | undefined =>
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
    (visibleControl(first) ?? box.current)?.focus();
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

export interface NotSavedProps {
  /** The failure. Undefined if the last submission did not fail. */
  readonly unsaved: Unsaved | undefined;
  /** What the submission does. */
  readonly done?: string;
  /** What users must know before they submit the form again, if it may have been processed. */
  readonly ifUnknown?: ReactNode;
  /** False if the message is not in the form, or the button that submits the form is next to it. */
  readonly canRetry?: boolean;
}

/**
 * A message that a form could not be submitted, with a button that submits it again. The form must keep its input, and no error page
 * replaces it. Each failure moves focus to the message, which can be far from the button that submits the form.
 */
export const NotSaved = ({ unsaved, done = 'saved', ifUnknown, canRetry = true }: NotSavedProps) => {
  const box = useRef<HTMLDivElement>(null);
  useFormEdited(unsaved !== undefined);
  useEffect(() => box.current?.focus(), [unsaved]);
  return (
    unsaved !== undefined && (
      <div ref={box} tabIndex={-1} className="outline-none">
        <Notice look="bad" alert>
          <p>
            {failureText(unsaved, done)} The form keeps your input. {unsaved.isUnknown && ifUnknown}
          </p>
          {canRetry && (
            <Button type="submit" className="mt-2">
              Try again
            </Button>
          )}
        </Notice>
      </div>
    )
  );
};

/** A message that a button or a dialog without input had no effect. */
export const NotDone = ({ unsaved, done }: Pick<NotSavedProps, 'unsaved'> & { readonly done: string }) =>
  unsaved !== undefined && (
    <Notice look="bad" alert>
      {failureText(unsaved, done)}
    </Notice>
  );

export interface LostNoticeProps {
  /** The reason why the page’s data cannot be loaded, if it cannot. */
  readonly lost: string | undefined;
  readonly what: string;
}

/** A message above a form whose page cannot be reloaded. */
export const LostNotice = ({ lost, what }: LostNoticeProps) =>
  lost !== undefined && (
    <div role="status" className="mb-4">
      <Notice look="bad">
        {lost} Your input stays in the form. This page tries every few seconds to load the {what} again.
      </Notice>
    </div>
  );
