import { useEffect, useRef, useState } from 'react';
import { toast } from '../ui/toast.tsx';
import { paths } from '../lib/paths.ts';
import { useNavigation, useRevalidator } from '../lib/remix.ts';

/** A stream that was refused, not interrupted, is asked for again this much later; browsers do not do that by themselves. */
const REOPEN_MS = 3_000;
/** Where there was no place for another stream, the page asks for one, and loads again, this often. */
const REFUSED_MS = 15_000;
/** Changes that come together are shown together. */
const TOGETHER_MS = 100;

export type LiveState = 'live' | 'reconnecting';

/**
 * Loads the page's data again whenever a resource of the namespace (or any) changes. A hidden tab listens to nothing: browsers
 * allow six connections per host, for all tabs together.
 */
export const useLiveResources = (namespace?: string): LiveState => {
  const { revalidate, state: reloading } = useRevalidator();
  const { state: navigating } = useNavigation();
  const [state, setState] = useState<LiveState>('live');
  const [changes, setChanges] = useState(0);
  const shownChanges = useRef(0);
  // A load that runs is let finish: changes that keep coming would abort each before it shows anything.
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
        // Whoever is not signed in any more is told by the page's own data.
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
      // `ready` comes first, also after an interruption: what changed meanwhile is seen.
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
