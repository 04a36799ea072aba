import { CircleAlert, Search, X } from 'lucide-react';
import { useEffect, useId, useRef, useState } from 'react';
import type { FilterProblem } from '@standin/exchange/search';
import { classNames } from '../ui/class-names.ts';
import { paths } from '../paths.ts';
import { IconButton } from '../ui/icon-button.tsx';
import type { Option } from './use-completion.ts';
import { useSearchText, type SearchTextOptions } from './use-search-text.ts';

/** Repeats the text on top of the field, invisible except for the mark under the error. */
const Underline = ({ text, problem, scroll }: { text: string; problem: FilterProblem; scroll: number }) => {
  const marked = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (marked.current !== null) marked.current.scrollLeft = scroll;
  }, [scroll, text]);
  return (
    <div
      ref={marked}
      aria-hidden
      className="pointer-events-none absolute inset-0 right-8 left-8 overflow-hidden font-mono text-small leading-7 whitespace-pre text-transparent"
    >
      {text.slice(0, problem.from)}
      <mark
        data-problem
        className="bg-transparent text-transparent underline decoration-5xx decoration-wavy underline-offset-3"
      >
        {text.slice(problem.from, problem.to) || ' '}
      </mark>
    </div>
  );
};

interface OptionListProps {
  readonly id: string;
  readonly options: readonly Option[];
  readonly active: number;
  readonly onChoose: (option: Option) => void;
}

const OptionList = ({ id, options, active, onChoose }: OptionListProps) => {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  return (
    <ul ref={list} id={id} role="listbox" aria-label="Suggestions" className="max-h-72 overflow-y-auto p-1">
      {options.map((option, index) => (
        <li
          key={option.text}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === active}
          // Runs before the field loses focus, which would close the list.
          onPointerDown={(event) => {
            event.preventDefault();
            onChoose(option);
          }}
          className={classNames(
            'flex min-h-7 cursor-pointer items-center gap-3 rounded px-2',
            index === active ? 'bg-selected' : 'hover:bg-hover',
          )}
        >
          <code className="min-w-0 truncate">{option.text}</code>
          <span className="ml-auto truncate text-small text-muted">{option.hint}</span>
        </li>
      ))}
    </ul>
  );
};

/**
 * The search box. Enter starts the search. If the search has an error, the wrong part is underlined, and the list does not change.
 */
export const SearchBox = (props: SearchTextOptions) => {
  const { params, range, inputRef, onSearch } = props;
  const id = useId();
  const [scroll, setScroll] = useState(0);
  const box = useSearchText(props);
  const { text, isOpen, problem } = box;
  return (
    <form
      role="search"
      action={paths.traffic(params)}
      onSubmit={(event) => {
        event.preventDefault();
        box.search();
      }}
      className="relative min-w-0 flex-1 basis-72"
    >
      <Search aria-hidden className="absolute top-1.5 left-2 size-4 text-muted" />
      {problem !== undefined && <Underline text={text} problem={problem} scroll={scroll} />}
      <input
        ref={inputRef}
        name="q"
        type="text"
        role="combobox"
        aria-label="Search requests"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        {...(isOpen && box.active >= 0 && { 'aria-activedescendant': `${id}-list-${box.active}` })}
        {...(box.explanation !== undefined && { 'aria-describedby': `${id}-explanation` })}
        {...(problem !== undefined && { 'aria-invalid': true, 'aria-describedby': `${id}-problem` })}
        placeholder='status:>=500 path:/v1/* body:"refund"'
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={text}
        onChange={({ currentTarget }) => box.edit(currentTarget.value, currentTarget.selectionStart ?? 0)}
        onSelect={({ currentTarget }) => box.setCursor(currentTarget.selectionStart ?? 0)}
        onScroll={({ currentTarget }) => setScroll(currentTarget.scrollLeft)}
        onFocus={() => box.setIsOpen(true)}
        onBlur={box.leave}
        onKeyDown={box.onKeyDown}
        className="h-7 w-full min-w-0 rounded border border-control bg-page pr-8 pl-8 font-mono text-small text-text aria-invalid:border-5xx"
      />
      {text !== '' && (
        <IconButton
          label="Clear search"
          className="absolute top-0.5 right-0.5 size-6!"
          onClick={() => {
            box.edit('', 0);
            onSearch('');
            inputRef.current?.focus();
          }}
        >
          <X aria-hidden />
        </IconButton>
      )}
      {range.from !== undefined && <input type="hidden" name="from" value={range.from} />}
      {range.to !== undefined && <input type="hidden" name="to" value={range.to} />}
      {(isOpen || box.explanation !== undefined) && (
        <div className="absolute inset-x-0 top-full z-20 mt-1 overflow-hidden rounded-lg border border-line bg-raised shadow-xl">
          {isOpen && <OptionList id={`${id}-list`} options={box.options} active={box.active} onChoose={box.choose} />}
          {box.explanation !== undefined && (
            <p
              id={`${id}-explanation`}
              className="border-t border-line px-3 py-1.5 text-small text-muted first:border-t-0"
            >
              {box.explanation}
            </p>
          )}
        </div>
      )}
      {problem !== undefined && (
        <p id={`${id}-problem`} role="alert" className="mt-1 flex gap-1.5 text-small text-5xx">
          <CircleAlert aria-hidden className="mt-0.5 size-3.5 shrink-0" />
          {problem.message}
        </p>
      )}
    </form>
  );
};
