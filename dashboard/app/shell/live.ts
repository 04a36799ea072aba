import { useEffect, useRef, useState } from 'react';
import { toast } from '../ui/toast.tsx';
import { paths } from '../paths.ts';
import { useNavigation, useRevalidator } from '../remix.ts';

/** The delay before a refused stream is requested again. Browsers reconnect only interrupted streams by themselves. */
const REOPEN_MS = 3_000;
/** If no place for another stream is free, the page requests one, and loads again, at this interval. */
const REFUSED_MS = 15_000;
/** Changes within this time are shown together. */
const TOGETHER_MS = 100;

export type LiveState = 'live' | 'reconnecting';

/**
 * Loads the page's data again whenever a resource of the namespace (or of any) changes. A hidden tab does not listen: browsers allow six connections
 * per host, for all tabs together.
 */
export const useLiveResources = (namespace?: string): LiveState => {
  const { revalidate, state: reloading } = useRevalidator();
  const { state: navigating } = useNavigation();
  const [state, setState] = useState<LiveState>('live');
  const [changes, setChanges] = useState(0);
  const shownChanges = useRef(0);
  // Lets a running load finish: continuous changes would otherwise abort each load before it shows anything.
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
        // If the user is no longer signed in, the page's own data reports it.
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
      // `ready` is the first event, even after a reconnect. It triggers a refresh that shows missed changes.
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
