import { LIMITS } from '@standin/contract';
import type { EndpointSpec, Problem } from '@standin/crds';
import { isJsonContent, parseMockTemplate, parseTemplateText, type Template } from '@standin/responses';
import { jsonFault } from './json-document.ts';

type Mock = Pick<NonNullable<EndpointSpec['json']>, 'headers' | 'body' | 'template'>;

/** Finds mistakes in a mock's body, and in the expressions of its body and headers. */
export const mockProblems = (
  path: string,
  { headers = [], body = '', template }: Mock,
  parameters: readonly string[],
): readonly Problem[] => {
  const pairs = headers.map(({ name, value }) => [name, value] as const);
  const isJson = body !== '' && isJsonContent(pairs);
  if (template === undefined) return isJson ? jsonProblems(`${path}.body`, body) : [];
  const parsed = parseMockTemplate({ headers: pairs, body }, parameters);
  if (parsed.ok) return isJson ? jsonProblems(`${path}.body`, parsed.template.body.skeleton, parsed.template.body) : [];
  return parsed.problems.map(({ field, message }) => ({
    path: field === 'body' ? `${path}.body` : `${path}.headers[${field}].value`,
    message,
  }));
};

/** Finds a mistake in a JSON document. For a template, `text` is its skeleton. */
export const jsonProblems = (path: string, text: string, template?: Template): readonly Problem[] => {
  const fault = jsonFault(text);
  if (fault === undefined) return [];
  const place = `line ${fault.line}, column ${fault.column}`;
  const slot = template?.slots.find((one) => one.place === place);
  const message = slot === undefined ? fault.message : fault.message.replace(/found .*$/, `found \${${slot.source}}`);
  return [{ path, message: `is not a JSON document: ${message} at ${place}` }];
};

/** Limits the expressions of an Endpoint together. They are checked before they are compiled, which takes much longer. */
export const templateSizeProblems = ({ responses = [], json }: EndpointSpec): readonly Problem[] => {
  const slots = [...responses, ...(json === undefined ? [] : [json])]
    .filter(({ template }) => template !== undefined)
    .flatMap(({ headers = [], body = '' }) => [body, ...headers.map(({ value }) => value)])
    .flatMap((text) => {
      const parsed = parseTemplateText(text);
      return parsed.ok ? parsed.template.slots : [];
    });
  const length = slots.reduce((sum, { source }) => sum + source.length, 0);
  const [max, lengthMax] = [LIMITS.templateExpressionsMax, LIMITS.templateExpressionsLengthMax];
  if (slots.length <= max && length <= lengthMax) return [];
  const message = `must have templates of no more than ${max} expressions and ${lengthMax} characters of expressions together, not ${slots.length} and ${length}`;
  return [{ path: 'spec', message }];
};
