import { useEffect, useRef, useSyncExternalStore } from 'react';

/** A key of the dashboard, and what it does; the help and the palette list those of the open page. */
export interface Shortcut {
  /** `?`, `j`, `Space`, or two after each other: `g e`. */
  readonly keys: string;
  readonly label: string;
  readonly run: () => void;
  /** Too small to be listed in the palette: moving within a list. */
  readonly hidden?: boolean;
  /** The same on every page: listed last. */
  readonly general?: boolean;
}

const registered = new Set<{ readonly list: readonly Shortcut[] }>();
const listeners = new Set<() => void>();
let snapshot: readonly Shortcut[] = [];

const publish = (): void => {
  const all = [...registered].flatMap(({ list }) => list);
  snapshot = [...all.filter(({ general = false }) => !general), ...all.filter(({ general = false }) => general)];
  for (const listener of listeners) listener();
};
const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
const NONE: readonly Shortcut[] = [];

/** Those of all components on the page. */
export const useRegisteredShortcuts = (): readonly Shortcut[] =>
  useSyncExternalStore(
    subscribe,
    () => snapshot,
    () => NONE,
  );

/** Registers keys for as long as the component is there. `run` may change from render to render, keys and labels may not. */
export const useShortcuts = (list: readonly Shortcut[]): void => {
  const latest = useRef(list);
  useEffect(() => {
    latest.current = list;
  });
  const identity = list.map(({ keys, label }) => `${keys} ${label}`).join('\n');
  useEffect(() => {
    const entry = {
      list: latest.current.map((shortcut, index) => ({ ...shortcut, run: () => latest.current[index]?.run() })),
    };
    registered.add(entry);
    publish();
    return () => {
      registered.delete(entry);
      publish();
    };
  }, [identity]);
};

/** Time between the two keys of `g e`. */
const SEQUENCE_MS_MAX = 1_000;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest('input:not([type=radio], [type=checkbox]), textarea, select') !== null);

/** In a dialog or menu, keys belong to it. */
const isCovered = (): boolean => document.querySelector('[role=dialog], [role=alertdialog], [role=menu]') !== null;

/** Where the space bar does what a click does. */
const takesSpace = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest('a, button, summary, input, [role=button], [role=slider], [role=separator]') !== null;

/** Listens for single keys; call it once. `isOn`: the person has not turned them off. */
export const useShortcutKeys = (isOn: boolean): void => {
  useEffect(() => {
    if (!isOn) return;
    let first: { readonly key: string; readonly at: number } | undefined;
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.repeat) return;
      if (isTyping(event.target) || isCovered()) return;
      if (event.key === ' ' && takesSpace(event.target)) return;
      const key = event.key === ' ' ? 'Space' : event.key;
      const isSecond = first !== undefined && event.timeStamp - first.at < SEQUENCE_MS_MAX;
      const keys = isSecond ? `${first?.key ?? ''} ${key}` : key;
      first = undefined;
      // The component that came last is the innermost.
      const match = snapshot.findLast((shortcut) => shortcut.keys === keys);
      if (match !== undefined) {
        event.preventDefault();
        match.run();
      } else if (snapshot.some((shortcut) => shortcut.keys.startsWith(`${key} `))) {
        first = { key, at: event.timeStamp };
      }
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [isOn]);
};
