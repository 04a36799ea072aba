import { useEffect, useRef, type RefObject } from 'react';

/**
 * Has the focus once the page is there, so that Enter does what was come for. Unlike `autofocus` it does not scroll: the page begins at
 * its top.
 */
export const useInitialFocus = <T extends HTMLElement>(): RefObject<T> => {
  const element = useRef<T>(null);
  useEffect(() => element.current?.focus({ preventScroll: true }), []);
  return element;
};
