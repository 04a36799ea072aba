import { ownMember } from '@standin/contract';
import {
  completionAt,
  FIELDS,
  HEADER_PREFIXES,
  isPlainField,
  type Completion,
  type FieldKind,
} from '@standin/exchange/search';
import { useEffect, useState } from 'react';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import type { TimeRange } from '../requests/time-range.ts';

/** A suggestion that replaces `text.slice(from, to)` of the search. */
export interface Option {
  readonly text: string;
  readonly hint: string;
  /** True for a value, which completes its condition. False for a field, a header name or a comparison. */
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

const COMPARISONS: ReadonlyMap<string, string> = new Map([
  ['>=', 'at least'],
  ['>', 'more than'],
  ['<=', 'at most'],
  ['<', 'less than'],
]);

const VALUE_HINTS: ReadonlyMap<string, string> = new Map([
  ...COMPARISONS,
  ['2xx', '200 to 299'],
  ['3xx', '300 to 399'],
  ['4xx', '400 to 499'],
  ['5xx', '500 to 599'],
  ['none', 'no response was recorded'],
]);

const WHOLE = 'Matches the whole value. * stands for any text.';
const PART = 'Matches any part, ignoring upper and lower case.';

/** Explains what a value of each kind of field matches. */
const MATCHING: Readonly<Partial<Record<FieldKind, string>>> = {
  status: 'A status, a class such as 5xx, a comparison such as >=500, or a range such as 200-299.',
  duration: 'A comparison with a unit, such as >250ms, or a range such as 100ms-2s.',
  size: 'Bytes, a comparison such as >10kb, or a range such as 1kb-1mb.',
  pattern: WHOLE,
  contains: PART,
};

/** Explains what the text at the cursor matches. Undefined if that is obvious. */
const explainMatching = (completion: Completion | undefined, text: string): string | undefined => {
  if (completion === undefined || completion.kind === 'field') {
    return text === '' ? 'A word without a field matches any part of the path, query, headers and bodies.' : undefined;
  }
  if (completion.kind === 'header-name') return undefined;
  return isPlainField(completion.field) ? MATCHING[FIELDS[completion.field].kind] : WHOLE;
};

const toOptions = (completion: Completion, found: readonly string[]): readonly Option[] => {
  const { from, to } = completion;
  switch (completion.kind) {
    case 'field':
      return completion.names.map((name) => ({
        text: name,
        hint: ownMember(MEANINGS, name) ?? '',
        isWhole: false,
        from,
        to,
      }));
    case 'header-name':
      return found.map((name) => ({ text: `${name}:`, hint: '', isWhole: false, from, to }));
    case 'value': {
      return [...new Set([...completion.values, ...found])]
        .filter((value) => value !== completion.typed)
        .map((value) => {
          const isKnown = completion.values.includes(value);
          const hint = (isKnown && VALUE_HINTS.get(value)) || '';
          return { text: quoteValue(value), hint, isWhole: !(isKnown && COMPARISONS.has(value)), from, to };
        });
    }
  }
};

/**
 * Returns the field and the prefix of the values to request from the log. Returns undefined if no values are needed or all are
 * known.
 */
const valueQuery = (completion: Completion | undefined) => {
  if (completion === undefined || completion.kind === 'field') return undefined;
  const known = completion.kind === 'value' && isPlainField(completion.field) && FIELDS[completion.field].values;
  if (known) return undefined;
  return { field: completion.field, prefix: completion.typed.replace(/^"/, '') };
};

/** Suggests fields and logged values at the cursor of a search box, and explains what a value matches. */
export const useCompletion = (
  params: ProjectName,
  range: TimeRange,
  { text, cursor, isOpen }: { readonly text: string; readonly cursor: number; readonly isOpen: boolean },
): { readonly options: readonly Option[]; readonly explanation: string | undefined } => {
  const { namespace, project } = params;
  const { from, to } = range;
  const completion = isOpen ? completionAt(text, cursor) : undefined;
  const question = valueQuery(completion);
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
  return {
    options: completion === undefined ? [] : toOptions(completion, answer?.key === key ? answer.values : []),
    explanation: isOpen ? explainMatching(completion, text) : undefined,
  };
};
