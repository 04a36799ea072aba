import { useEffect, useRef, useSyncExternalStore } from 'react';

/** A keyboard shortcut and its action. The help and the palette list the shortcuts of the open page. */
export interface Shortcut {
  /** `?`, `j`, `R` for Shift and r, `Space`, or two keys in sequence: `g e`. */
  readonly keys: string;
  readonly label: string;
  readonly run: () => void;
  /** True if the palette omits the shortcut, such as one that moves within a list. */
  readonly hidden?: boolean;
  /** True if the shortcut is available on every page. These shortcuts are listed last. */
  readonly general?: boolean;
}

/** Returns the keys that open the commands. */
export const commandKeys = (isApple: boolean): string => (isApple ? '⌘K' : 'Ctrl K');

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

/** Returns the shortcuts of all components on the page. */
export const useRegisteredShortcuts = (): readonly Shortcut[] =>
  useSyncExternalStore(
    subscribe,
    () => snapshot,
    () => NONE,
  );

/**
 * Registers shortcuts while the component is mounted. `run` may change in every render. A change of a key or a label registers the
 * shortcuts again, and a change of only `hidden` or `general` has no effect. Components on one page must not use the same keys.
 */
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

/** The maximum time between two keys in sequence, such as `g e`. */
const SEQUENCE_MS_MAX = 1_000;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest('input:not([type=radio], [type=checkbox]), textarea, select') !== null);

/** Returns whether an open dialog or menu receives all keys. */
const isCovered = (): boolean => document.querySelector('[role=dialog], [role=alertdialog], [role=menu]') !== null;

/** Returns whether the element itself uses the space bar, for example as a click. */
const takesSpace = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest('a, button, summary, input, [role=button], [role=slider], [role=separator]') !== null;

/** Returns the key as in `Shortcut.keys`. Caps Lock has no effect, because shortcuts with Shift can do more. */
const pressedKey = ({ key, shiftKey }: KeyboardEvent): string => {
  if (key === ' ') return 'Space';
  if (!/^[a-z]$/i.test(key)) return key;
  return shiftKey ? key.toUpperCase() : key.toLowerCase();
};

/**
 * Listens for the keys of all registered shortcuts. Only one component may call this hook, because each call would run the
 * shortcuts again. `isOn` is false if the user has turned single-key shortcuts off.
 */
export const useShortcutKeys = (isOn: boolean): void => {
  useEffect(() => {
    if (!isOn) return;
    let first: { readonly key: string; readonly at: number } | undefined;
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.repeat) return;
      if (isTyping(event.target) || isCovered()) return;
      if (event.key === ' ' && takesSpace(event.target)) return;
      const key = pressedKey(event);
      const isSecond = first !== undefined && event.timeStamp - first.at < SEQUENCE_MS_MAX;
      const keys = isSecond ? `${first?.key ?? ''} ${key}` : key;
      first = undefined;
      const match = snapshot.find((shortcut) => shortcut.keys === keys);
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

/** Moves focus between links marked with `data-row`. Enter opens the focused link. */
const move = (by: 1 | -1) => (): void => {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const current = rows.findIndex((row) => row === document.activeElement);
  const next = current === -1 ? (by === 1 ? 0 : rows.length - 1) : Math.min(Math.max(current + by, 0), rows.length - 1);
  rows[next]?.focus();
};

export const useRowKeys = (): void =>
  useShortcuts([
    { keys: 'j', label: 'Next row (press Enter to open)', run: move(1), hidden: true },
    { keys: 'k', label: 'Previous row', run: move(-1), hidden: true },
  ]);
