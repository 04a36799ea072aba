import { useCallback, useEffect, useRef, useState } from 'react';
import type { FormErrors } from '../lib/form-errors.ts';

/** The manifest that a form stands for, and what would be wrong with it. */
export interface EndpointPreview {
  readonly yaml: string;
  readonly errors: FormErrors;
}

const PAUSE_MS = 150;

/** Asks the server about the form after each change, once the person pauses; an answer that is out of date is dropped. */
export const useEndpointPreview = (url: string, first: EndpointPreview) => {
  const [preview, setPreview] = useState(first);
  /** Fields that were touched: nobody wants to hear of mistakes in what they have not typed yet. */
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
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
        // The preview stays as it is; saving says what is away.
        ask(form).catch(() => undefined);
      }, PAUSE_MS);
    },
    [ask],
  );

  return { preview, touched, onInput };
};
