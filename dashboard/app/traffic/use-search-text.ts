import { useEffect, useState, type KeyboardEvent, type RefObject } from 'react';
import { flushSync } from 'react-dom';
import type { ProjectName } from '../../src/resources/names.ts';
import type { FilterProblem } from '@standin/exchange/search';
import { findProblem } from './filter-terms.ts';
import type { TimeRange } from '../requests/time-range.ts';
import { useCompletion, type Option } from './use-completion.ts';

/** Finished terms are checked after this pause. */
const PAUSE_MS = 700;

export interface SearchTextOptions {
  readonly params: ProjectName;
  /** The search that the list shows. */
  readonly q: string;
  readonly range: TimeRange;
  readonly inputRef: RefObject<HTMLInputElement>;
  readonly onSearch: (q: string) => void;
}

/** What has been checked: nothing since the last change, all finished terms, or the whole text. */
type Checked = 'nothing' | 'finished' | 'whole';

/**
 * Returns whether the cursor is in the wrong term, directly after it, or in a group that is not closed. The user may be about to
 * complete it.
 */
const isUnfinished = (text: string, cursor: number, { from, to }: FilterProblem): boolean => {
  const rest = text.slice(to, cursor).replace(/^\S+/, '').trim();
  return cursor >= from && (rest === '' || text.slice(from, to) === '(');
};

/** Manages the typed text, its errors and the suggestions. */
export const useSearchText = ({ params, q, range, inputRef, onSearch }: SearchTextOptions) => {
  const [text, setText] = useState(q);
  const [cursor, setCursor] = useState(0);
  const [isOpen, setIsOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const [checked, setChecked] = useState<Checked>('whole');
  const { options, explanation } = useCompletion(params, range, { text, cursor, isOpen });
  // Show a search that was set elsewhere. Keep the typed text if it differs only in surrounding spaces.
  const [searched, setSearched] = useState(q);
  if (searched !== q) {
    setSearched(q);
    if (text.trim() !== q) setText(q);
  }
  useEffect(() => {
    const timer = setTimeout(() => setChecked((before) => (before === 'nothing' ? 'finished' : before)), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const problem = findProblem(text);
  const isProblemShown =
    problem !== undefined && (checked === 'whole' || (checked === 'finished' && !isUnfinished(text, cursor, problem)));
  const isListOpen = isOpen && options.length > 0;
  const isHelpOpen = isListOpen || explanation !== undefined;

  const edit = (next: string, at: number): void => {
    setText(next);
    setCursor(at);
    setActive(-1);
    setIsOpen(true);
    setChecked('nothing');
  };
  const leave = (): void => {
    setChecked('whole');
    setIsOpen(false);
  };
  const search = (next = text): void => {
    leave();
    if (findProblem(next) === undefined && next.trim() !== q) onSearch(next.trim());
  };
  const choose = ({ text: chosen, from, to, isWhole }: Option): void => {
    const before = text.slice(0, from) + chosen + (isWhole ? ' ' : '');
    const next = before + text.slice(to);
    // React sets the text at once, so that the cursor is at its place before the user types the next character.
    flushSync(() => edit(next, before.length));
    inputRef.current?.setSelectionRange(before.length, before.length);
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
    } else if (event.key === 'Tab') {
      // Otherwise, Tab leaves the box: after a space, after a complete term, and after Escape has closed the list.
      const completion = option ?? (/\S$/.test(text.slice(0, cursor)) ? options[0] : undefined);
      if (event.shiftKey || !isListOpen || completion === undefined) return;
      choose(completion);
    } else if (event.key === 'Escape') {
      if (isHelpOpen) setIsOpen(false);
      else event.currentTarget.blur();
    } else return;
    event.preventDefault();
  };
  return {
    text,
    edit,
    search,
    choose,
    leave,
    options,
    explanation,
    active,
    onKeyDown,
    setCursor,
    setIsOpen,
    isOpen: isListOpen,
    problem: isProblemShown ? problem : undefined,
  };
};
