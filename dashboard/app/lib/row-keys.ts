import { useShortcuts } from './shortcuts.ts';

/** Moves the focus among the links marked with `data-row`. Enter opens the link, as usual. */
const move = (by: 1 | -1) => (): void => {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const current = rows.findIndex((row) => row === document.activeElement);
  const next = current === -1 ? (by === 1 ? 0 : rows.length - 1) : Math.min(Math.max(current + by, 0), rows.length - 1);
  rows[next]?.focus();
};

export const useRowKeys = (): void =>
  useShortcuts([
    { keys: 'j', label: 'Next row (Enter opens)', run: move(1), hidden: true },
    { keys: 'k', label: 'Previous row', run: move(-1), hidden: true },
  ]);
