import { useEffect, useState, type KeyboardEvent, type RefObject } from 'react';
import type { ProjectName } from '../../src/resources/names.ts';
import { problemOf } from './filter-terms.ts';
import type { TimeRange } from '../requests/time-range.ts';
import { useCompletion, type Option } from './use-completion.ts';

/** An error is shown after this pause, so that it does not appear while the user is typing. */
const PAUSE_MS = 700;

export interface SearchTextOptions {
  readonly params: ProjectName;
  /** The search that the list shows. */
  readonly q: string;
  readonly range: TimeRange;
  readonly inputRef: RefObject<HTMLInputElement>;
  readonly onSearch: (q: string) => void;
}

/** Manages the typed text, its errors and the suggestions. */
export const useSearchText = ({ params, q, range, inputRef, onSearch }: SearchTextOptions) => {
  const [text, setText] = useState(q);
  const [cursor, setCursor] = useState(0);
  const [isOpen, setIsOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const [isChecked, setIsChecked] = useState(true);
  const options = useCompletion(params, range, { text, cursor, isOpen });
  // Show a search that was set elsewhere. Keep the typed text if it differs only in surrounding spaces.
  const [searched, setSearched] = useState(q);
  if (searched !== q) {
    setSearched(q);
    if (text.trim() !== q) setText(q);
  }
  useEffect(() => {
    const timer = setTimeout(() => setIsChecked(true), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const problem = problemOf(text);
  const isListOpen = isOpen && options.length > 0;

  const edit = (next: string, at: number): void => {
    setText(next);
    setCursor(at);
    setActive(-1);
    setIsOpen(true);
    setIsChecked(false);
  };
  const search = (next = text): void => {
    setIsChecked(true);
    setIsOpen(false);
    if (problemOf(next) === undefined && next.trim() !== q) onSearch(next.trim());
  };
  const choose = ({ text: chosen, from, to, isWhole }: Option): void => {
    const before = text.slice(0, from) + chosen + (isWhole ? ' ' : '');
    const next = before + text.slice(to);
    edit(next, before.length);
    // Wait until React has set the text.
    requestAnimationFrame(() => inputRef.current?.setSelectionRange(before.length, before.length));
    if (isWhole) search(next);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.nativeEvent.isComposing) return;
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const option = options[active];
    if (by !== 0) {
      if (!isListOpen) setIsOpen(true);
      else setActive(((((active + by + 1) % (options.length + 1)) + options.length + 1) % (options.length + 1)) - 1);
    } else if (event.key === 'Enter') {
      if (isListOpen && option !== undefined) choose(option);
      else search();
    } else if (event.key === 'Escape') {
      if (isListOpen) setIsOpen(false);
      else event.currentTarget.blur();
    } else return;
    event.preventDefault();
  };
  return {
    ...{ text, edit, search, choose, options, active, onKeyDown, setCursor, setIsOpen },
    isOpen: isListOpen,
    problem: isChecked ? problem : undefined,
  };
};
