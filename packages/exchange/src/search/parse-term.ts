import type { Action, Credential, RequestMethod, Outcome } from '@standin/contract';
import { listText } from '@standin/contract/list-text';
import {
  FIELDS,
  HEADER_PREFIXES,
  headerField,
  headerNameText,
  isPlainField,
  nearestName,
  suggestField,
} from './fields.ts';
import type { ChoiceField, Field, PlainField } from './fields.ts';
import { FILTER_LIMITS } from './filter.ts';
import type { ContainsField, NumberField, Pattern, PatternField, Term } from './filter.ts';
import type { Token, ValueToken } from './lexer.ts';
import {
  parseDurationValue,
  parseSizeValue,
  parseStatusValue,
  type Amount,
  type ParsedAmount,
} from './parse-number.ts';
import { FilterSyntaxError } from './problem.ts';
import { hasBytes } from './text-bytes.ts';

type TermToken = Extract<Token, { kind: 'term' }>;

/** A wildcard is a literal `*`, for fields that do not support wildcards. */
const valueAsText = (value: ValueToken): string => value.pieces.join('*');

const EMPTY_QUOTES = 'The quotes are empty. Enter the text to search for.';

/** Parses one term. Throws a `FilterSyntaxError`. */
export const parseTerm = (token: TermToken, text: string): Term => {
  const { field, value } = token;
  if (!value.pieces.every(hasBytes)) {
    throw new FilterSyntaxError(String.raw`There is an invalid character here; write bytes as \xe9.`, value);
  }
  if (field === undefined) {
    if (valueAsText(value) === '') throw new FilterSyntaxError(EMPTY_QUOTES, value);
    return { kind: 'text', text: valueAsText(value) };
  }
  if (isPlainField(field.name)) {
    assertValue(token, FIELDS[field.name]);
    return parseField(field.name, token, text);
  }
  const header = headerField(field.name);
  if (header === undefined || !headerNameText.test(header.header)) throw unknownField(token, field, text);
  const { side, example } = HEADER_PREFIXES[header.prefix];
  assertValue(token, { example });
  return { kind: 'header', side, name: header.header.toLowerCase(), pattern: valuePattern(value) };
};

const assertValue = ({ field, value, from, to }: TermToken, { example }: Pick<Field, 'example'>): void => {
  if (value.quoted || value.from < value.to) return;
  throw new FilterSyntaxError(`${field?.name ?? ''}: needs a value directly after the colon, as in ${example}.`, {
    from,
    to,
  });
};

const unknownField = (token: TermToken, field: { readonly name: string; from: number; to: number }, text: string) => {
  const meant = suggestField(field.name);
  const known = `The fields are ${listText([...Object.keys(FIELDS), 'header.NAME', 'resp.header.NAME'])}.`;
  const asText = quote(text.slice(token.from, token.to));
  const advice = meant === undefined ? known : `Did you mean ${meant}?`;
  return new FilterSyntaxError(
    `There is no field ${JSON.stringify(field.name)}. ${advice} To search for the text, write ${asText}.`,
    field,
  );
};

const quote = (text: string): string => `"${text.replace(/["\\]/g, String.raw`\$&`)}"`;

const valuePattern = (value: ValueToken): Pattern => {
  if (value.pieces.length - 1 > FILTER_LIMITS.wildcardsMax) {
    throw new FilterSyntaxError(`A value can have at most ${FILTER_LIMITS.wildcardsMax} wildcards (*).`, value);
  }
  // Adjacent wildcards count as one.
  const inner = value.pieces.slice(1, -1).filter((piece) => piece !== '');
  const last = value.pieces.at(-1) ?? '';
  return value.pieces.length === 1 ? [value.pieces[0]] : [value.pieces[0], ...inner, last];
};

const parseField = (name: PlainField, token: TermToken, text: string): Term => {
  const { value } = token;
  const written = valueAsText(value);
  switch (FIELDS[name].kind) {
    case 'choice':
      return parseChoice(name as ChoiceField, value);
    case 'status':
      return checkedAmount(parseStatusValue(written), token) ?? refuse(value, statusAdvice(written));
    case 'duration':
      return (
        withoutEquality(checkedAmount(parseDurationValue(written), token), { value, written }) ??
        refuse(value, 'A duration needs a comparison and a unit (us, ms, s or m), as in dur:>250ms or dur:100ms-2s.')
      );
    case 'size':
      return (
        checkedAmount(parseSizeValue(name as NumberField, written), token) ??
        refuse(
          value,
          `A size is a number of bytes, or a number with a unit (b, kb, mb, kib or mib), as in ${name}:>10kb.`,
        )
      );
    case 'contains':
      if (written === '') return refuse(value, emptyAdvice(name));
      return { kind: 'contains', field: name as ContainsField, text: written };
    case 'pattern':
    case 'header':
      return parsePattern(name as PatternField, value, text);
  }
};

const refuse = (span: { readonly from: number; readonly to: number }, message: string): never => {
  throw new FilterSyntaxError(message, span);
};

const emptyAdvice = (name: PlainField): string => {
  if (name === 'query') return EMPTY_QUOTES;
  const size = name === 'body' ? 'req.size' : 'resp.size';
  return `The quotes are empty. To find empty bodies, search for ${size}:0.`;
};

/** Refuses a range that ends before it begins. It matches nothing, and is probably a mistake. */
const checkedAmount = (parsed: ParsedAmount, { field, value }: TermToken): Amount | undefined => {
  if (parsed !== 'reversed') return parsed;
  const [from = '', to = ''] = valueAsText(value).split('-');
  return refuse(value, `The range ends before it begins. Did you mean ${field?.name ?? ''}:${to}-${from}?`);
};

/** Refuses an exact duration, because users do not know durations to the microsecond. */
const withoutEquality = (
  amount: Amount | undefined,
  { value, written }: { readonly value: ValueToken; readonly written: string },
): Amount | undefined => {
  if (amount === undefined || /[<>-]/.test(written)) return amount;
  return refuse(value, 'A duration needs a comparison, as in dur:>250ms, dur:<=1s or dur:100ms-2s.');
};

const statusAdvice = (written: string): string => {
  const forms = 'A status has a form like 404, >=500, 5xx, 200-299 or none.';
  const several = written.split(',');
  if (several.length > 1) return `${forms} For several, write (${several.map((one) => `status:${one}`).join(' OR ')}).`;
  if (written.startsWith('!')) return `${forms} For all others, write -status:${written.replace(/^!=?/, '')}.`;
  return forms;
};

const parseChoice = (field: ChoiceField, value: ValueToken): Term => {
  const written = valueAsText(value);
  const values = FIELDS[field].values ?? [];
  const found = values.find((choice) => choice.toLowerCase() === written.toLowerCase());
  if (found === undefined) {
    const meant = nearestName(written, values);
    const advice = meant === undefined ? '' : ` Did you mean ${meant}?`;
    return refuse(value, `${field} must be ${listText(values, 'or')}.${advice}`);
  }
  switch (field) {
    case 'method':
      return { kind: 'method', method: found as RequestMethod };
    case 'outcome':
      return { kind: 'outcome', outcome: found as Outcome };
    case 'action':
      return { kind: 'action', action: found as Action };
    case 'credential':
      return { kind: 'credential', credential: found as Credential };
  }
};

const wholeId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const parsePattern = (field: PatternField, value: ValueToken, text: string): Term => {
  const pattern = valuePattern(value);
  if (field !== 'id') return { kind: 'matches', field, pattern };
  const [first, ...rest] = pattern.map((piece) => piece.toLowerCase()) as [string, ...string[]];
  if (rest.length === 0 && !wholeId.test(first)) {
    const written = text.slice(value.from, value.to);
    refuse(value, `A complete id has 36 characters. For the beginning of an id, write id:${written}*.`);
  }
  return { kind: 'matches', field, pattern: [first, ...rest] };
};
