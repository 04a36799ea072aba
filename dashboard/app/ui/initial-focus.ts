import { useEffect, useRef, type RefObject } from 'react';

/**
 * Focuses an element when its component is mounted, so that Enter triggers the main action. Unlike `autofocus`, it does not scroll.
 */
export const useInitialFocus = <T extends HTMLElement>(): RefObject<T> => {
  const element = useRef<T>(null);
  useEffect(() => element.current?.focus({ preventScroll: true }), []);
  return element;
};
