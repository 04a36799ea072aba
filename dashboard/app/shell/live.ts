import { useEffect, useRef, useState } from 'react';
import { toast } from '../ui/toast.tsx';
import { paths } from '../paths.ts';
import { useNavigation, useRevalidator } from '../remix.ts';

/** The delay before a rejected stream is requested again. Browsers automatically reconnect only interrupted streams. */
const REOPEN_MS = 3_000;
/** While the server has no capacity for another stream, the page retries and reloads its data at this interval. */
const REFUSED_MS = 15_000;
/** Changes within this interval are shown together. */
const TOGETHER_MS = 100;

export type LiveState = 'live' | 'reconnecting';

/**
 * Reloads the page's data whenever a resource in the namespace changes. Without a namespace, changes in all namespaces count.
 * Hidden tabs do not listen, because browsers share six connections per host between all tabs. Returns the state of the stream of
 * changes.
 */
export const useLiveResources = (namespace?: string): LiveState => {
  const { revalidate, state: reloading } = useRevalidator();
  const { state: navigating } = useNavigation();
  const [state, setState] = useState<LiveState>('live');
  const [changes, setChanges] = useState(0);
  const shownChanges = useRef(0);
  // Wait until a running load has finished. Otherwise, continuous changes would abort every load.
  const isIdle = navigating === 'idle' && reloading === 'idle';
  useEffect(() => {
    if (shownChanges.current === changes || !isIdle) return;
    shownChanges.current = changes;
    revalidate();
  }, [changes, isIdle, revalidate]);
  useEffect(() => {
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let reopening: ReturnType<typeof setTimeout> | undefined;
    let wasRefused = false;
    const refresh = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        setChanges((count) => count + 1);
      }, TOGETHER_MS);
    };
    const open = (): void => {
      source = new EventSource(paths.events(namespace === undefined ? {} : { namespace }));
      source.addEventListener('open', () => setState('live'));
      source.addEventListener('error', () => {
        setState('reconnecting');
        if (source?.readyState !== EventSource.CLOSED) return;
        // If the user has been signed out, the reload detects the missing session.
        refresh();
        reopening = setTimeout(open, REOPEN_MS);
      });
      source.addEventListener('refused', ({ data }: MessageEvent<string>) => {
        if (!wasRefused) toast((JSON.parse(data) as { message: string }).message, 'bad');
        wasRefused = true;
        setState('reconnecting');
        source?.close();
        refresh();
        reopening = setTimeout(open, REFUSED_MS);
      });
      // `ready` is the first event, even after a reconnect. Refresh to show missed changes.
      source.addEventListener('ready', () => {
        wasRefused = false;
        refresh();
      });
      source.addEventListener('change', refresh);
    };
    const close = (): void => {
      clearTimeout(reopening);
      source?.close();
      source = undefined;
    };
    const onVisibility = (): void => {
      if (document.hidden) close();
      else if (source === undefined) open();
    };
    onVisibility();
    document.addEventListener('visibilitychange', onVisibility);
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      clearTimeout(timer);
      close();
    };
  }, [namespace]);
  return state;
};
