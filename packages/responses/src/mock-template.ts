import { LIMITS, type HeaderPair } from '@standin/contract';
import { ExpressionError } from './cel/expression-error.ts';
import type { RequestExpressions } from './request-expressions.ts';
import type { LazyExpression } from './lazy-expression.ts';
import { parseTemplate, renderTemplate, templateMistake, type Template } from './template.ts';

/** A mock with expressions in its body and in the values of its headers. */
export interface MockTemplate {
  readonly headers: readonly { readonly name: string; readonly value: Template }[];
  readonly body: Template;
}

/** The field of a mock that has an error, and what to change, as a phrase that begins in lower case and has no full stop. */
export interface MockTemplateProblem {
  /** The index of a header, or `body`. */
  readonly field: number | 'body';
  readonly message: string;
}

export type ParsedMockTemplate =
  | { readonly ok: true; readonly template: MockTemplate }
  | { readonly ok: false; readonly problems: readonly MockTemplateProblem[] };

/** Of a mock with content that has no content type of its own. */
export const DEFAULT_CONTENT_TYPE: HeaderPair = ['content-type', 'application/json'];

/** Returns whether the content type is JSON or not set. */
export const isJsonContent = (headers: readonly HeaderPair[]): boolean =>
  headers.every(([name, value]) => name.toLowerCase() !== 'content-type' || JSON_TYPE.test(value));

const JSON_TYPE = /^[^;]*[/+]json[ \t]*(;|$)/i;

/** Returns whether the content type is JSON with a document in each line. There is no registered type. */
const isJsonLines = (headers: readonly HeaderPair[]): boolean =>
  headers.some(([name, value]) => name.toLowerCase() === 'content-type' && JSON_LINES_TYPE.test(value));

const JSON_LINES_TYPE = /^[ \t]*application\/(x-)?(ndjson|jsonl|jsonlines|ldjson)[ \t]*(;|$)/i;

/**
 * Returns the skeleton of a body's template if it is not JSON, although its content type is. For lines of JSON, returns the first line that is
 * not JSON, after whitespace, so that positions are those in the template.
 */
export const invalidSkeleton = (headers: readonly HeaderPair[], body: Template): string | undefined => {
  if (isJsonContent(headers)) return body.source === '' || isJson(body.skeleton) ? undefined : body.skeleton;
  if (!isJsonLines(headers)) return undefined;
  const text = withoutBreaksInSlots(body);
  let start = 0;
  for (const line of text.split('\n')) {
    if (line.trim() !== '' && !isJson(line)) return text.slice(0, start).replaceAll(/[^\n]/g, ' ') + line;
    start += line.length + 1;
  }
  return undefined;
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** An expression can have several lines, but what it inserts into JSON has none. */
const withoutBreaksInSlots = ({ skeleton, slots }: Template): string => {
  const parts: string[] = [];
  let end = 0;
  for (const { source, index, isInString } of slots) {
    if (isInString) continue;
    parts.push(skeleton.slice(end, index), skeleton.slice(index, index + source.length).replaceAll('\n', ' '));
    end = index + source.length;
  }
  return parts.join('') + skeleton.slice(end);
};

/** Finds the expressions in the templates of a mock, without checking them. */
export const parseMockTemplate = ({
  headers,
  body,
}: {
  readonly headers: readonly HeaderPair[];
  readonly body: string;
}): ParsedMockTemplate => {
  const problems: MockTemplateProblem[] = [];
  const parse = (source: string, kind: Template['kind'], field: MockTemplateProblem['field']): Template => {
    const parsed = parseTemplate(source, kind);
    if (parsed.ok) return parsed.template;
    problems.push({ field, message: parsed.message });
    return { kind, source, texts: [], slots: [], skeleton: '' };
  };
  const values = headers.map(([name, source], index) => ({ name, value: parse(source, 'header', index) }));
  for (const [index, { name, value }] of values.entries())
    if (name.toLowerCase() === 'content-type' && value.slots.length > 0)
      problems.push({ field: index, message: 'must not have expressions, because it decides how values are encoded' });
  const template = parse(body, isJsonContent(headers) || isJsonLines(headers) ? 'json' : 'text', 'body');
  return problems.length > 0 ? { ok: false, problems } : { ok: true, template: { headers: values, body: template } };
};

/** Returns the errors in the expressions of a mock of an endpoint whose slug has these parameters. */
export const mockTemplateMistakes = (
  { headers, body }: MockTemplate,
  parameters: readonly string[],
): MockTemplateProblem[] => {
  const templates = [...headers.map(({ value }, index) => [index, value] as const), ['body', body] as const];
  return templates.flatMap(([field, template]) => {
    const message = templateMistake(template, parameters);
    return message === undefined ? [] : [{ field, message }];
  });
};

export const expressionsIn = ({ headers, body }: MockTemplate): readonly LazyExpression[] =>
  [...headers.map(({ value }) => value), body].flatMap(({ slots }) => slots.map(({ expression }) => expression));

/** The parts of a mock that depend on the request. */
export interface RenderedMock {
  readonly headers: readonly HeaderPair[];
  readonly body: string;
}

/** Returns the headers and the body for a request, or why there are none. The same request always has the same result. */
export const renderMock = (template: MockTemplate, expressions: RequestExpressions): RenderedMock | ExpressionError =>
  expressions.together(() => render(template, expressions));

const render = ({ headers, body }: MockTemplate, expressions: RequestExpressions): RenderedMock | ExpressionError => {
  const pairs: HeaderPair[] = [];
  for (const { name, value } of headers) {
    const text = renderTemplate(value, expressions);
    if (text instanceof ExpressionError) return new ExpressionError(`header ${name}: ${text.message}`);
    if (text.length > LIMITS.headerValueLengthMax)
      return new ExpressionError(`header ${name}: the value is longer than ${LIMITS.headerValueLengthMax} characters`);
    pairs.push([name, text]);
  }
  const text = renderTemplate(body, expressions);
  return text instanceof ExpressionError
    ? new ExpressionError(`body: ${text.message}`)
    : { headers: pairs, body: text };
};
