import { CircleCheck, CircleX } from 'lucide-react';
import { useEffect, useSyncExternalStore } from 'react';
import { useLocation } from '../remix.ts';
import { takeNotice } from './flash.ts';

interface Shown {
  readonly text: string;
  readonly kind: 'good' | 'bad';
}

const SHOWN_MS = 4_000;

let current: Shown | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

const show = (next: Shown | undefined): void => {
  current = next;
  for (const listener of listeners) listener();
};

/** Shows a temporary message that replaces the previous one. Important messages belong on the page. */
export const toast = (text: string, kind: Shown['kind'] = 'good'): void => {
  clearTimeout(timer);
  show({ text, kind });
  timer = setTimeout(() => show(undefined), SHOWN_MS);
};

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Shows toasts, and the notice for this page (`flash.ts`). Browsers without scripts show the notice of the server's HTML. */
export const Toaster = ({ noticeWithoutScripts }: { readonly noticeWithoutScripts: string | undefined }) => {
  const shown = useSyncExternalStore(
    subscribe,
    () => current,
    () => undefined,
  );
  const { key, pathname } = useLocation();
  useEffect(() => {
    const notice = takeNotice(pathname);
    if (notice !== undefined) toast(notice);
    // A form can redirect to its own page. Only the key is then new.
  }, [key, pathname]);
  return (
    <div
      role="status"
      aria-live="polite"
      className="fixed inset-x-3 bottom-4 z-50 flex justify-center pointer-events-none"
    >
      {shown !== undefined && (
        <div className="flex max-w-full items-center gap-2 rounded-lg border border-line bg-raised px-3 py-2 shadow-xl">
          {shown.kind === 'good' ? (
            <CircleCheck aria-hidden className="size-4 shrink-0 text-2xx" />
          ) : (
            <CircleX aria-hidden className="size-4 shrink-0 text-5xx" />
          )}
          <span className="min-w-0 break-words">{shown.text}</span>
        </div>
      )}
      {shown === undefined && noticeWithoutScripts !== undefined && <noscript>{noticeWithoutScripts}</noscript>}
    </div>
  );
};
