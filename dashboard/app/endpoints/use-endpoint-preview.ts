import { useCallback, useEffect, useRef, useState } from 'react';
import { NO_ERRORS, type FormErrors } from '../ui/form-errors.ts';

/** The manifest that the server generates from a form, and the errors in the form. */
export interface EndpointPreview {
  readonly yaml: string;
  readonly errors: FormErrors;
}

const PAUSE_MS = 150;

const NONE: ReadonlySet<string> = new Set();

/**
 * Sends the form to the server when the user pauses after a change. Drops outdated responses. `yaml` and `errors` are the last
 * submission's, or those of the form as it was opened.
 */
export const useEndpointPreview = (url: string, yaml: string, errors: FormErrors | undefined) => {
  const [preview, setPreview] = useState<EndpointPreview>({ yaml, errors: errors ?? NO_ERRORS });
  /** The fields that the user has edited since the last submission. The errors in the preview are shown only for these fields. */
  const [touched, setTouched] = useState(NONE);
  const [last, setLast] = useState(errors);
  if (errors !== last) {
    setLast(errors);
    // The response to a submission is newer than the preview, so it replaces the preview.
    if (errors !== undefined) {
      setPreview({ yaml, errors });
      setTouched(NONE);
    }
  }
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const asking = useRef<AbortController>(undefined);

  useEffect(
    () => () => {
      clearTimeout(timer.current);
      asking.current?.abort();
    },
    [],
  );

  const ask = useCallback(
    async (form: HTMLFormElement): Promise<void> => {
      asking.current?.abort();
      const controller = new AbortController();
      asking.current = controller;
      const body = new URLSearchParams();
      for (const [name, value] of new FormData(form)) if (typeof value === 'string') body.append(name, value);
      const response = await fetch(url, { method: 'POST', body, signal: controller.signal });
      if (response.ok) setPreview((await response.json()) as EndpointPreview);
    },
    [url],
  );

  const onInput = useCallback(
    (form: HTMLFormElement, field: string): void => {
      setTouched((before) => (before.has(field) ? before : new Set([...before, field])));
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        // Keep the current preview. If the server is unavailable, the user sees an error when saving.
        ask(form).catch(() => undefined);
      }, PAUSE_MS);
    },
    [ask],
  );

  return { preview, touched, onInput };
};
