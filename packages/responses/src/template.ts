import { LIMITS } from '@standin/contract';
import { celToJson, celToText, jsonContents } from './cel/value-text.ts';
import { ExpressionError } from './cel/expression-error.ts';
import { LazyExpression } from './lazy-expression.ts';
import type { RequestExpressions } from './request-expressions.ts';
import { parseTemplateText, positionIn, type Slot } from './template-text.ts';

/**
 * What a template renders. `json` is a document: the values of expressions are encoded, so that it is always valid. `header` is the value of
 * a header, and `text` any other text in UTF-8.
 */
export type TemplateKind = 'json' | 'text' | 'header';

interface ExpressionSlot extends Slot {
  readonly expression: LazyExpression;
}

/** A template that can be rendered many times. */
export interface Template {
  readonly kind: TemplateKind;
  readonly source: string;
  /** Always has one element more than `slots`. */
  readonly texts: readonly string[];
  readonly slots: readonly ExpressionSlot[];
  /** See `TemplateText`. */
  readonly skeleton: string;
}

export type ParsedTemplate =
  | { readonly ok: true; readonly template: Template }
  /** What to change, as a phrase that begins in lower case and has no full stop. */
  | { readonly ok: false; readonly message: string };

/** Finds the expressions of a template, without checking them. Does not check that the skeleton of a JSON template is JSON. */
export const parseTemplate = (source: string, kind: TemplateKind): ParsedTemplate => {
  const parsed = parseTemplateText(source);
  if (!parsed.ok) return parsed;
  const slots = parsed.template.slots.map((slot) => ({ ...slot, expression: new LazyExpression(slot.source) }));
  return { ok: true, template: { ...parsed.template, kind, source, slots } };
};

/** Returns the first error in the expressions of a template for a slug with these parameters, and what to change. See `ParsedTemplate`. */
export const templateMistake = ({ source, slots }: Template, parameters: readonly string[]): string | undefined => {
  for (const slot of slots) {
    const parsed = slot.expression.compile(parameters);
    if (parsed.ok) continue;
    const place = positionIn(source, slot.index + parsed.offset);
    return `has an error in ${quoted(slot)} at ${place}: ${parsed.message}`;
  }
  return undefined;
};

const QUOTED_LENGTH_MAX = 100;

const quoted = ({ source }: Slot): string =>
  source.length > QUOTED_LENGTH_MAX ? `\${${source.slice(0, QUOTED_LENGTH_MAX)}…}` : `\${${source}}`;

/** Returns the text of a template rendered for a request, or why it cannot be rendered. */
export const renderTemplate = (
  { kind, source, texts, slots }: Template,
  expressions: RequestExpressions,
): string | ExpressionError => {
  let [text = ''] = texts;
  for (const [index, slot] of slots.entries()) {
    const value = slot.expression.valueFor(expressions);
    const encoded = value instanceof ExpressionError ? value : encode(value, kind, slot.isInString, expressions);
    if (encoded instanceof ExpressionError)
      return new ExpressionError(
        `${quoted(slot)} at ${positionIn(source, slot.index - '${'.length)}: ${encoded.message}`,
      );
    text += encoded + (texts[index + 1] ?? '');
    if (text.length > LIMITS.renderedBodyBytesMax) return TOO_LONG;
  }
  return kind === 'header' || Buffer.byteLength(text) <= LIMITS.renderedBodyBytesMax ? text : TOO_LONG;
};

const TOO_LONG = new ExpressionError(`the text is longer than ${LIMITS.renderedBodyBytesMax} bytes`);

const encode = (
  value: Parameters<typeof celToText>[0],
  kind: TemplateKind,
  isInString: boolean,
  { budget, written }: RequestExpressions,
): string | ExpressionError => {
  if (kind === 'json' && !isInString) return celToJson(value, budget, written);
  if (value === null) return IS_NULL;
  const text = celToText(value, budget, written);
  if (text instanceof ExpressionError) return text;
  if (kind === 'json') return jsonContents(text, budget);
  if (kind === 'text') return text.isWellFormed() ? text : NOT_UTF8;
  return HEADER_VALUE.test(text) ? text : NOT_A_HEADER;
};

const IS_NULL = new ExpressionError('the value is null, which has no text');
const NOT_UTF8 = new ExpressionError('the value has half of a surrogate pair, which UTF-8 cannot encode');
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const NOT_A_HEADER = new ExpressionError(
  'the value has a line break, a control character or a character that is not ISO-8859-1, which a header cannot contain',
);
