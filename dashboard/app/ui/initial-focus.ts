import { useEffect, useRef, type RefObject } from 'react';

/** Gets the focus when the page is loaded, so that Enter does the main action. Unlike `autofocus`, it does not scroll: the page begins at its top. */
export const useInitialFocus = <T extends HTMLElement>(): RefObject<T> => {
  const element = useRef<T>(null);
  useEffect(() => element.current?.focus({ preventScroll: true }), []);
  return element;
};
