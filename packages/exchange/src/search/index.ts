/**
 * The search language, without its translation to SQL. It loads no library, so that a browser can also parse, complete and
 * underline searches.
 */
export { completionAt } from './complete.ts';
export type { Completion } from './complete.ts';
export { FIELDS, headerField, headerNameText, HEADER_PREFIXES, isPlainField } from './fields.ts';
export type { Field, FieldKind, PlainField } from './fields.ts';
export { FILTER_LIMITS, readsContents } from './filter.ts';
export type {
  Comparison,
  Condition,
  Conditions,
  ContainsField,
  Everything,
  Filter,
  NumberField,
  Pattern,
  PatternField,
  Side,
  Term,
} from './filter.ts';
export { formatFilter } from './format-filter.ts';
export { parseFilter } from './parse-filter.ts';
export type { ParseResult } from './parse-filter.ts';
export type { FilterProblem } from './problem.ts';
export { filterLatin1Bytes, filterUtf8Bytes, lowerAscii } from './text-bytes.ts';
