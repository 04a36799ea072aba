import { useCallback, useEffect, useRef, useState } from 'react';
import type { ResponsePreview } from '../../src/captured/preview-response.ts';
import { NO_ERRORS, type FormErrors } from '../ui/form-errors.ts';
import { PREVIEW_FIELDS } from './preview-fields.ts';

/** The server's result for a form: the manifest, the errors in the form, and the response to the selected request. */
export interface EndpointPreview {
  readonly yaml: string;
  readonly errors: FormErrors;
  /** Undefined if the form selects no request. */
  readonly answer?: ResponsePreview | { readonly unavailable: string } | undefined;
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
      setPreview((before) => ({ ...before, yaml, errors }));
      setTouched(NONE);
    }
  }
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const asking = useRef<AbortController>(undefined);
  const edited = useRef('');

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
      body.append(PREVIEW_FIELDS.edited, edited.current);
      const response = await fetch(url, { method: 'POST', body, signal: controller.signal });
      if (response.ok) setPreview((await response.json()) as EndpointPreview);
    },
    [url],
  );

  const refresh = useCallback(
    (form: HTMLFormElement): void => {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        edited.current = editedIn(form) ?? edited.current;
        // Keep the current preview. If the server is unavailable, the user sees an error when saving.
        ask(form).catch(() => undefined);
      }, PAUSE_MS);
    },
    [ask],
  );

  const onInput = useCallback(
    (form: HTMLFormElement, field: string): void => {
      setTouched((before) => (before.has(field) ? before : new Set([...before, field])));
      refresh(form);
    },
    [refresh],
  );

  /** Updates the preview if the focus has moved to another response. */
  const onFocus = useCallback(
    (form: HTMLFormElement): void => {
      const now = editedIn(form);
      if (now !== undefined && now !== edited.current) refresh(form);
    },
    [refresh],
  );

  return { preview, touched, onInput, onFocus, refresh };
};

/** Returns the index of the response that has focus, or `default`. Returns undefined if none has it. */
const editedIn = (form: HTMLFormElement): string | undefined => {
  const { activeElement } = document;
  const response = activeElement?.closest<HTMLElement>('[data-response]');
  return response && form.contains(response) ? response.dataset['response'] : undefined;
};
