import { completionAt, FIELDS, HEADER_PREFIXES, type Completion } from '@standin/exchange/search';
import { useEffect, useState } from 'react';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import type { TimeRange } from '../requests/time-range.ts';

/** A suggestion that replaces `text.slice(from, to)` of the search. */
export interface Option {
  readonly text: string;
  readonly hint: string;
  /** True for a value, which completes its condition. False for a field or a header name. */
  readonly isWhole: boolean;
  readonly from: number;
  readonly to: number;
}

const TYPING_MS = 120;

const MEANINGS: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(FIELDS).map(([name, { meaning }]) => [`${name}:`, meaning] as const),
  ...Object.entries(HEADER_PREFIXES).map(([name, { meaning }]) => [name, meaning] as const),
]);

/** Quotes a value for the search language, so that it is read literally. */
const quoteValue = (value: string): string => {
  const escaped = Array.from(value, (char) =>
    '"\\*'.includes(char)
      ? `\\${char}`
      : char < ' ' || char === '\x7f'
        ? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`
        : char,
  ).join('');
  return escaped !== value || /[\s()]/.test(value) ? `"${escaped}"` : value;
};

const optionsOf = (completion: Completion, found: readonly string[]): readonly Option[] => {
  const { from, to } = completion;
  switch (completion.kind) {
    case 'field':
      return completion.names.map((name) => ({ text: name, hint: MEANINGS[name] ?? '', isWhole: false, from, to }));
    case 'header-name':
      return found.map((name) => ({ text: `${name}:`, hint: '', isWhole: false, from, to }));
    case 'value': {
      const values = completion.values.length > 0 ? completion.values : found;
      return values
        .filter((value) => value !== completion.typed)
        .map((value) => ({ text: quoteValue(value), hint: '', isWhole: true, from, to }));
    }
  }
};

/**
 * Returns the field and the prefix of the values to request from the log. Returns undefined if no values are needed or all are
 * known.
 */
const questionOf = (completion: Completion | undefined) => {
  if (completion === undefined || completion.kind === 'field') return undefined;
  if (completion.kind === 'value' && completion.values.length > 0) return undefined;
  const known = completion.kind === 'value' && completion.field in FIELDS && FIELDS[completion.field as 'path'].values;
  if (known) return undefined;
  return { field: completion.field, prefix: completion.typed.replace(/^"/, '') };
};

/** Suggests fields and logged values at the cursor of a search box. */
export const useCompletion = (
  params: ProjectName,
  range: TimeRange,
  { text, cursor, isOpen }: { readonly text: string; readonly cursor: number; readonly isOpen: boolean },
): readonly Option[] => {
  const { namespace, project } = params;
  const { from, to } = range;
  const completion = isOpen ? completionAt(text, cursor) : undefined;
  const question = questionOf(completion);
  const field = question?.field;
  const prefix = question?.prefix ?? '';
  const [answer, setAnswer] = useState<{ readonly key: string; readonly values: readonly string[] }>();
  const key = `${field ?? ''} ${prefix}`;
  useEffect(() => {
    if (field === undefined) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      fetch(paths.trafficValues({ namespace, project }, { field, prefix, from, to }), { signal: abort.signal })
        .then(async (response) => {
          const { values = [] } = (await response.json()) as { values?: readonly string[] };
          setAnswer({ key, values });
        })
        // Typing still works without suggestions.
        .catch(() => undefined);
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [namespace, project, field, prefix, from, to, key]);
  return completion === undefined ? [] : optionsOf(completion, answer?.key === key ? answer.values : []);
};
