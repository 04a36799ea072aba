import type { JsonMockConfig } from '@standin/contract';
import {
  ExpressionError,
  expressionsIn,
  invalidSkeleton,
  parseMockTemplate,
  renderMock,
  type MockTemplate,
  type LazyExpression,
  type RequestExpressions,
} from '@standin/responses';
import { failureProblem } from '../request/problem.ts';
import type { Mock, MockSource } from '../request/route.ts';
import { checkHeader, MockResponse } from './mock-response.ts';

/**
 * Makes a mock for each request, from templates. Throws an error with a readable message if a template is not valid, or if HTTP cannot
 * carry the mock. The operator has checked the expressions.
 */
export class MockRenderer implements MockSource {
  readonly #config: JsonMockConfig;
  readonly #template: MockTemplate;
  readonly expressions: readonly LazyExpression[];

  constructor(config: JsonMockConfig) {
    const parsed = parseMockTemplate(config);
    if (!parsed.ok) throw new Error(parsed.problems.map(({ field, message }) => `${field}: ${message}`).join('; '));
    const invalid = invalidSkeleton(config.headers, parsed.template.body);
    if (invalid !== undefined) JSON.parse(invalid);
    for (const { name, value } of parsed.template.headers) checkHeader(name, value.texts.join(''));
    this.#config = config;
    this.#template = parsed.template;
    this.expressions = expressionsIn(parsed.template);
  }

  mockFor(expressions: () => RequestExpressions): Mock {
    try {
      const made = renderMock(this.#template, expressions());
      return made instanceof ExpressionError ? failed(made.message) : new MockResponse({ ...this.#config, ...made });
    } catch (error) {
      return failed(String(error));
    }
  }
}

/** The caller gets no details, because it may not be allowed to see the endpoint's configuration. */
const PROBLEM = failureProblem('template_failed', 'The log has the reason.');

const failed = (templateError: string): Mock => ({
  outcome: 'template_failed',
  templateError,
  status: PROBLEM.status,
  headers: (date) => [...PROBLEM.headers, ['date', date]],
  bytes: PROBLEM.body,
  wire: PROBLEM.body,
  delay: undefined,
});
