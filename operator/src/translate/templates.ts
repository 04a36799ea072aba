import { LIMITS } from '@standin/contract';
import type { EndpointSpec, Problem } from '@standin/crds';
import {
  invalidSkeleton,
  isJsonContent,
  mockTemplateMistakes,
  parseMockTemplate,
  parseTemplateText,
  type Template,
} from '@standin/responses';
import { jsonFault, type JsonFault } from './json-document.ts';

type ResponseSpec = NonNullable<EndpointSpec['responses']>[number];
type Mock = Pick<NonNullable<EndpointSpec['json']>, 'headers' | 'body' | 'template'>;

/** Finds errors in a mock's body, and in the expressions of its body and headers. */
export const mockProblems = (
  path: string,
  { headers = [], body = '', template }: Mock,
  parameters: readonly string[],
): readonly Problem[] => {
  const pairs = headers.map(({ name, value }) => [name, value] as const);
  if (template === undefined) return body !== '' && isJsonContent(pairs) ? jsonProblems(`${path}.body`, body) : [];
  const parsed = parseMockTemplate({ headers: pairs, body });
  const problems = parsed.ok ? mockTemplateMistakes(parsed.template, parameters) : parsed.problems;
  if (parsed.ok && problems.length === 0) {
    const invalid = invalidSkeleton(pairs, parsed.template.body);
    return invalid === undefined ? [] : jsonProblems(`${path}.body`, invalid, parsed.template.body);
  }
  return problems.map(({ field, message }) => ({
    path: field === 'body' ? `${path}.body` : `${path}.headers[${field}].value`,
    message,
  }));
};

const EXPRESSION = /\$\{\s*(?:path|request)\.[^}]{1,100}\}/;

/** Returns what looks like an expression in a mock that is returned verbatim. */
export const verbatimExpression = (path: string, { headers = [], body = '', template }: Mock): Problem | undefined => {
  if (template !== undefined) return undefined;
  const texts = [
    [`${path}.body`, body],
    ...headers.map(({ value }, index) => [`${path}.headers[${index}].value`, value]),
  ];
  for (const [field = '', text = ''] of texts) {
    const [expression] = EXPRESSION.exec(text) ?? [];
    if (expression === undefined) continue;
    const message = `contains ${expression}, which is returned as it is written: to replace it, set ${path}.template to CEL`;
    return { path: field, message };
  }
  return undefined;
};

/** A part of an expression that reads a header by a name with capitals. */
const CAPITALS =
  /request\.headers(?:All)?\s*(?:\[\s*(["'])([\w-]*[A-Z][\w-]*)\1|\.\s*(\w*[A-Z]\w*))|(["'])([\w-]*[A-Z][\w-]*)\4\s+in\s+request\.headers/;

/** Returns an expression of a response that reads a header by a name that no request has, because names are in lower case. */
export const absentHeader = (
  path: string,
  { when, headers = [], body = '', template }: Mock & Partial<Pick<ResponseSpec, 'when'>>,
): Problem | undefined => {
  const texts =
    template === undefined
      ? []
      : [[`${path}.body`, body], ...headers.map(({ value }, index) => [`${path}.headers[${index}].value`, value])];
  const conditions = [
    [`${path}.when.draw.key`, when?.draw?.key],
    [`${path}.when.cel`, when?.cel],
  ];
  for (const [field = '', text = ''] of [...conditions, ...texts]) {
    const [, , index, name = index, , wanted = name] = CAPITALS.exec(text) ?? [];
    if (wanted === undefined) continue;
    const message = `reads the header ${wanted}, which is always absent, because header names in expressions are in lower case: write ${wanted.toLowerCase()}`;
    return { path: field, message };
  }
  return undefined;
};

/** Finds an error in a JSON document. For a template, `text` is its skeleton. */
export const jsonProblems = (path: string, text: string, template?: Template): readonly Problem[] => {
  const fault = jsonFault(text);
  if (fault === undefined) return [];
  const place = `line ${fault.line}, column ${fault.column}`;
  const index = faultIndex(text, fault);
  const slot = template?.slots.find((one) => one.index - '${'.length === index);
  const message = slot === undefined ? fault.message : fault.message.replace(/found .*$/, `found \${${slot.source}}`);
  return [{ path, message: `is not a JSON document: ${message} at ${place}` }];
};

const faultIndex = (text: string, { line, column }: JsonFault): number => {
  let start = 0;
  for (let count = 1; count < line; count += 1) start = text.indexOf('\n', start) + 1;
  return start + column - 1;
};

/** Limits the expressions of an Endpoint in total. They are checked before they are compiled, which takes much longer. */
export const expressionSizeProblems = (
  responses: EndpointSpec['responses'] = [],
  json?: EndpointSpec['json'],
): readonly Problem[] => {
  const [max, lengthMax] = [LIMITS.templateExpressionsMax, LIMITS.expressionsLengthMax];
  const mocks = [...responses, ...(json === undefined ? [] : [json])].filter(({ template }) => template !== undefined);
  let length = responses.reduce((sum, { when }) => sum + (when?.draw?.key?.length ?? 0) + (when?.cel?.length ?? 0), 0);
  let count = 0;
  for (const text of mocks.flatMap(({ headers = [], body = '' }) => [body, ...headers.map(({ value }) => value)])) {
    const parsed = parseTemplateText(text);
    for (const { source } of parsed.ok ? parsed.template.slots : []) {
      count += 1;
      length += source.length;
    }
    if (count > max)
      return [{ path: 'spec', message: `must have templates with no more than ${max} expressions in total` }];
  }
  if (length <= lengthMax) return [];
  const message = `must have expressions with no more than ${lengthMax} characters in total, not ${length}`;
  return [{ path: 'spec', message }];
};
