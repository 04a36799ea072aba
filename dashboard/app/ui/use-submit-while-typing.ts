import { useEffect, useRef, useState } from 'react';
import { useSubmit } from '../remix.ts';
import { useFormEdited } from './kept-form.ts';

const PAUSE_MS = 300;

/**
 * Returns a function to call on each input. It submits the form when the user pauses, without a new entry in the browser history.
 * The form then counts as edited, so that an error page does not replace it (`keepLoaded`).
 */
export const useSubmitWhileTyping = (): ((form: HTMLFormElement) => void) => {
  const submit = useSubmit();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [isEdited, setEdited] = useState(false);
  useFormEdited(isEdited);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (form) => {
    setEdited(true);
    clearTimeout(timer.current);
    // Otherwise, the delayed submission would interrupt one that the user starts.
    form.addEventListener('submit', () => clearTimeout(timer.current), { once: true });
    timer.current = setTimeout(() => submit(form, { replace: true, preventScrollReset: true }), PAUSE_MS);
  };
};
