import { useEffect, useLayoutEffect, useRef, type RefObject } from 'react';

/**
 * Focuses an element when its component is mounted, so that Enter triggers the main action. Unlike `autofocus`, it does not scroll.
 */
export const useInitialFocus = <T extends HTMLElement>(): RefObject<T> => {
  const element = useRef<T>(null);
  useEffect(() => element.current?.focus({ preventScroll: true }), []);
  return element;
};

/**
 * Returns a handler for `onCloseAutoFocus` of a Radix dialog. It focuses the element that had focus when the dialog was opened. Radix
 * itself focuses only a dialog's `Trigger`, which our dialogs do not have.
 */
export const useReturnedFocus = (isOpen: boolean): ((event: Event) => void) => {
  const before = useRef<Element | null>(null);
  // Radix mounts the dialog after this effect, so that the dialog does not have the focus yet.
  useLayoutEffect(() => {
    if (isOpen) before.current = document.activeElement;
  }, [isOpen]);
  return (event) => {
    event.preventDefault();
    if (before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
  };
};
