import { LIMITS, type DelayConfig, type JsonMockConfig, type ResponseConfig } from '@standin/contract';
import { ExpressionError } from './cel/expression-error.ts';
import { delayUs } from './delay.ts';
import {
  invalidSkeleton,
  isJsonContent,
  mockTemplateMistakes,
  parseMockTemplate,
  renderMock,
  type RenderedMock,
} from './mock-template.ts';
import type { RequestExpressions } from './request-expressions.ts';
import { parseTemplateText } from './template-text.ts';

/** A mock, as the configuration has it. Without `bodyEncoding`, the body is UTF-8. */
export type MockConfig = JsonMockConfig & Partial<Pick<ResponseConfig['mock'], 'bodyEncoding'>>;

export interface PlannedDelay {
  readonly type: DelayConfig['kind'];
  readonly ms: number;
}

/** What a mock responds with to one request. */
export type PlannedResponse = { readonly isTemplate: boolean } & (
  | (RenderedMock & {
      readonly kind: 'Mock';
      readonly status: number;
      readonly bodyEncoding: 'utf8' | 'base64';
      /** The delay for this request's id. Absent if the mock has none. */
      readonly delay?: PlannedDelay;
    })
  | Failure
);

/**
 * `TemplateFailed`: the gateway responds with the error `template_failed`, without a delay. `Invalid`: the mock has an error, so the
 * operator does not accept the endpoint.
 */
interface Failure {
  readonly kind: 'TemplateFailed' | 'Invalid';
  readonly reason: string;
}

export interface PlanOptions {
  readonly requestId: string;
  /** The names of the parameters in the slug. */
  readonly parameters: readonly string[];
  readonly expressions: RequestExpressions;
}

/** The statuses whose responses never have content (RFC 9110). */
const BODYLESS_STATUSES: readonly number[] = [204, 205, 304];

/** Returns what a mock responds with to a request, as gateways do. The gateway adds the headers that frame the response. */
export const planResponse = (mock: MockConfig, { requestId, ...options }: PlanOptions): PlannedResponse => {
  const { status, template, delay, bodyEncoding = 'utf8' } = mock;
  const isTemplate = template !== undefined;
  const made = isTemplate ? rendered(mock, options) : verbatim(mock);
  if ('kind' in made) return { isTemplate, ...made };
  return {
    kind: 'Mock',
    isTemplate,
    status,
    bodyEncoding,
    headers: made.headers,
    body: BODYLESS_STATUSES.includes(status) ? '' : made.body,
    ...(delay !== undefined && { delay: { type: delay.kind, ms: delayUs(delay, requestId) / 1_000 } }),
  };
};

const verbatim = (mock: MockConfig): RenderedMock | Failure => {
  const { headers, body, bodyEncoding = 'utf8' } = mock;
  const isChecked = body !== '' && bodyEncoding === 'utf8' && isJsonContent(headers);
  return (isChecked ? jsonMistake(body) : undefined) ?? { headers, body };
};

const rendered = (
  mock: MockConfig,
  { parameters, expressions }: Omit<PlanOptions, 'requestId'>,
): RenderedMock | Failure => {
  const max = LIMITS.expressionsLengthMax;
  if (expressionsLength(mock) > max)
    return { kind: 'Invalid', reason: `the expressions have more than ${max} characters in total` };
  const parsed = parseMockTemplate(mock);
  const problems = parsed.ok ? mockTemplateMistakes(parsed.template, parameters) : parsed.problems;
  if (!parsed.ok || problems.length > 0) {
    const fieldName = (field: number | 'body'): string =>
      field === 'body' ? field : `header ${mock.headers[field]?.[0] ?? field}`;
    const reasons = problems.map(({ field, message }) => `${fieldName(field)} ${message}`);
    return { kind: 'Invalid', reason: reasons.join('; ') };
  }
  const invalid = invalidSkeleton(mock.headers, parsed.template.body);
  const mistake = invalid === undefined ? undefined : jsonMistake(invalid);
  if (mistake !== undefined) return mistake;
  const made = renderMock(parsed.template, expressions);
  return made instanceof ExpressionError ? { kind: 'TemplateFailed', reason: made.message } : made;
};

const expressionsLength = ({ headers, body }: MockConfig): number =>
  [body, ...headers.map(([, value]) => value)]
    .map(parseTemplateText)
    .flatMap((parsed) => (parsed.ok ? parsed.template.slots : []))
    .reduce((sum, { source }) => sum + source.length, 0);

/** @param text the body, or the skeleton of its template */
const jsonMistake = (text: string): Failure | undefined => {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return { kind: 'Invalid', reason: `body is not a JSON document: ${String(error)}` };
  }
};
