import { useEffect, useRef } from 'react';
import { useSubmit } from '../remix.ts';

const PAUSE_MS = 300;

/**
 * Returns a function to call on each input. It submits the form when the user pauses, without a new entry in the browser history.
 */
export const useSubmitWhileTyping = (): ((form: HTMLFormElement) => void) => {
  const submit = useSubmit();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (form) => {
    clearTimeout(timer.current);
    // Otherwise, the delayed submission would interrupt one that the user starts.
    form.addEventListener('submit', () => clearTimeout(timer.current), { once: true });
    timer.current = setTimeout(() => submit(form, { replace: true, preventScrollReset: true }), PAUSE_MS);
  };
};
