import { useSyncExternalStore } from 'react';

/** The breakpoint `min-[1600px]` of the styles. */
const IS_WIDE = '(min-width: 1600px)';

const onChange = (listener: () => void): (() => void) => {
  const query = matchMedia(IS_WIDE);
  query.addEventListener('change', listener);
  return () => query.removeEventListener('change', listener);
};

/** Returns whether the window has space for a request next to its response. Returns false on the server and during hydration. */
export const useIsWide = (): boolean =>
  useSyncExternalStore(
    onChange,
    () => matchMedia(IS_WIDE).matches,
    () => false,
  );
