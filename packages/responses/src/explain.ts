import {
  LIMITS,
  printable,
  type Action,
  type HeaderPair,
  type Method,
  type ResponseConfig,
  type ValueCondition,
} from '@standin/contract';
import { Budget } from './budget.ts';
import { compileConditions, unmetConditions, type CompiledCondition, type UnmetCondition } from './conditions.ts';
import { describeDraw, describeExpression, describeUnmet } from './describe-unmet.ts';
import { nearestPaths } from './nearest-paths.ts';
import { hasParameters, parsePathPattern } from './path-pattern.ts';
import { PathTable, servedMethod, type Place } from './path-table.ts';
import { pathParameters } from './pattern-table.ts';
import {
  planResponse,
  type MockConfig,
  type PlannedResponse,
  type PlannedDelay,
  type PlanOptions,
} from './planned-response.ts';
import { RequestExpressions } from './request-expressions.ts';
import { RequestFacts } from './request-facts.ts';

/** A request as the gateway receives it, below the project URI. All text is latin1. */
export interface ExplainedRequest {
  readonly method: string;
  readonly path: string;
  /** The part of the target after the first `?`. */
  readonly query: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array;
  readonly id: string;
  /** Microseconds since 1970. */
  readonly receivedAtUs: number;
  /** The name of the Project. */
  readonly project: string;
  /** The public URL of the Project. */
  readonly projectUrl: string;
}

export interface ExplainedEndpoint {
  readonly namespace: string;
  readonly name: string;
  /** Absent if the endpoint is only in a file. */
  readonly generation?: number | undefined;
  readonly method: Method;
  readonly slug: string;
  /** Absent if it is not valid. */
  readonly action?: Action | undefined;
}

/** An endpoint with a place in the gateways' configuration. `rules` is called only for the endpoint that responds. */
export interface Candidate {
  readonly endpoint: ExplainedEndpoint;
  /** Undefined if the endpoint is not accepted, so that gateways refuse its requests. */
  readonly rules: (() => CandidateRules) | undefined;
}

export interface CandidateRules {
  readonly responses: readonly CandidateResponse[];
  /** The mock of the action `JSON`. */
  readonly mock?: MockConfig | undefined;
}

interface CandidateResponse {
  readonly name: string;
  readonly conditions: readonly CompiledCondition[];
  readonly mock: MockConfig;
}

/** Prepares the rules of an endpoint. Throws an error with a readable message if a regular expression is not valid. */
export const compileRules = (responses: readonly ResponseConfig[], mock: MockConfig | undefined): CandidateRules => ({
  responses: responses.map(({ name, mock: own, ...conditions }) => ({
    name,
    conditions: compileConditions(conditions),
    mock: own,
  })),
  mock,
});

/** A condition that the request does not meet. Values are shortened to `LIMITS.explainedValueLengthMax` characters. */
export interface ExplainedCondition {
  readonly on: CompiledCondition['on'];
  /** Empty for an expression, whose text is the value, and for a draw, whose key is the value. */
  readonly name: string;
  readonly type: ValueCondition['type'] | 'Draw' | 'CEL';
  readonly value?: string;
  /** The first values that the request has. Empty if it has none. Those of headers are latin1. */
  readonly seen: readonly string[];
  /** The number of all values. */
  readonly seenCount: number;
  /** Sentences such as `The header x-plan is "free". It must be "gold".` */
  readonly message: string;
}

/** A response that comes before the one that is returned, and why it is not returned. */
export interface UnmatchedResponse {
  readonly name: string;
  readonly unmet: readonly ExplainedCondition[];
}

/** Another endpoint of the project. */
export interface OtherEndpoint extends ExplainedEndpoint {
  /**
   * Why it does not respond: its slug matches the path, but it has a different method; another slug that matches is more specific; or
   * its slug does not match the path, but is similar to it.
   */
  readonly reason: 'Method' | 'Precedence' | 'Path';
}

/** How the content of a mock is generated. */
export interface ExplainedMock {
  readonly isTemplate: boolean;
  /** The delay for this request's id. Absent if there is none. */
  readonly delay?: PlannedDelay;
  /** Why the template cannot be rendered for this request. The gateway responds with the error `template_failed`. */
  readonly templateError?: string;
}

/** Which endpoint responds to a request, with what, and why not with something else. */
export interface Explanation {
  /** Absent if no endpoint has the request's path and method. */
  readonly endpoint?: ExplainedEndpoint | undefined;
  readonly rejection?: 'endpoint_not_found' | 'method_not_allowed' | 'endpoint_not_accepted' | undefined;
  /** The name of the response that is returned. Absent if the endpoint's action decides. */
  readonly response?: string | undefined;
  /** Absent if an upstream responds. */
  readonly mock?: ExplainedMock | undefined;
  /** The earlier responses. Those with the fewest unmet conditions come first. */
  readonly unmatched: readonly UnmatchedResponse[];
  /** At most `LIMITS.explainedEndpointsMax`. */
  readonly otherEndpoints: readonly OtherEndpoint[];
}

interface PlacedCandidate extends Place {
  readonly candidate: Candidate;
}

/** An explanation with the content of the response. */
export interface ContentExplanation extends Omit<Explanation, 'mock'> {
  /** Absent if an upstream responds. */
  readonly content?: PlannedResponse;
}

/**
 * Explains the response to a request, with the code by which gateways choose it.
 *
 * @param candidates the endpoints of one project
 */
export const explain = (candidates: readonly Candidate[], request: ExplainedRequest): Explanation => {
  // Literal slugs that are not the path cannot match. Leaving them out saves time in large projects.
  const canMatch = ({ pattern, slug }: PlacedCandidate): boolean => pattern !== undefined || slug === request.path;
  const { content, ...explanation } = new CandidateTable(candidates, canMatch).explain(request);
  return content === undefined ? explanation : { ...explanation, mock: withoutContent(content) };
};

const withoutContent = (content: PlannedResponse): ExplainedMock => {
  const { isTemplate } = content;
  if (content.kind !== 'Mock') return { isTemplate, templateError: printable(content.reason) };
  return { isTemplate, ...(content.delay !== undefined && { delay: content.delay }) };
};

/** The endpoints of a project, prepared to explain the responses to any number of requests. */
export class CandidateTable {
  readonly #placed: readonly PlacedCandidate[];
  readonly #table = new PathTable<PlacedCandidate>();

  /** @param canMatch returns false for an endpoint that need not be found */
  constructor(candidates: readonly Candidate[], canMatch: (placed: PlacedCandidate) => boolean = () => true) {
    this.#placed = candidates.flatMap(placeCandidate);
    for (const one of this.#placed) if (canMatch(one)) this.#table.put(one, one);
  }

  /** Explains the response to a request as `explain` does, and returns its content, too. */
  explain(request: ExplainedRequest): ContentExplanation {
    const { method, path } = request;
    const served = servedMethod(method);
    const found = this.#table.find(method, path);
    const others = this.#table
      .matches(path)
      .flatMap((methods) => [...methods.values()])
      .filter((one) => one !== found)
      .map((one) => other(one, one.method === served ? 'Precedence' : 'Method'));
    if (found !== undefined) {
      const { endpoint, rules } = found.candidate;
      const otherEndpoints = firstEndpoints(others);
      return rules === undefined
        ? { endpoint, rejection: 'endpoint_not_accepted', unmatched: [], otherEndpoints }
        : { endpoint, ...explainResponses(found, rules(), request), otherEndpoints };
    }
    if (others.length > 0)
      return { rejection: 'method_not_allowed', unmatched: [], otherEndpoints: firstEndpoints(others) };
    const similar = nearestPaths(this.#placed, { method: served, path }).map((one) => other(one, 'Path'));
    return { rejection: 'endpoint_not_found', unmatched: [], otherEndpoints: firstEndpoints(similar) };
  }
}

/** Returns nothing for an invalid slug, because no gateway serves its endpoint. */
const placeCandidate = (candidate: Candidate): PlacedCandidate[] => {
  const { slug, method } = candidate.endpoint;
  const parsed = hasParameters(slug) ? parsePathPattern(slug) : undefined;
  return parsed?.ok === false ? [] : [{ candidate, slug, method, pattern: parsed?.pattern }];
};

const other = ({ candidate: { endpoint } }: PlacedCandidate, reason: OtherEndpoint['reason']): OtherEndpoint => ({
  ...endpoint,
  reason,
});

const firstEndpoints = (endpoints: readonly OtherEndpoint[]): readonly OtherEndpoint[] =>
  endpoints.slice(0, LIMITS.explainedEndpointsMax);

const explainResponses = (
  placed: PlacedCandidate,
  { responses, mock }: CandidateRules,
  request: ExplainedRequest,
): Pick<ContentExplanation, 'response' | 'content' | 'unmatched'> => {
  const options = planOptions(placed, request);
  const spare = new Budget();
  const unmatched: UnmatchedResponse[] = [];
  for (const { name, conditions, mock: own } of responses) {
    const unmet = unmetConditions(options.expressions, conditions, spare);
    if (unmet.length === 0)
      return { response: name, content: planResponse(own, options), unmatched: nearMissesFirst(unmatched) };
    unmatched.push({ name, unmet: unmet.map(shorten) });
  }
  return {
    ...(mock !== undefined && { content: planResponse(mock, options) }),
    unmatched: nearMissesFirst(unmatched),
  };
};

const planOptions = ({ candidate, pattern }: PlacedCandidate, request: ExplainedRequest): PlanOptions => {
  const parameters =
    pattern === undefined ? new Map<string, readonly string[]>() : pathParameters(pattern, request.path);
  const facts = new RequestFacts({ ...request, parameters });
  const expressions = new RequestExpressions(facts, { ...request, endpoint: candidate.endpoint.name });
  return { requestId: request.id, parameters: [...parameters.keys()], expressions };
};

/** Returns what a mock of an endpoint would respond with to a request that the endpoint gets, regardless of the conditions. */
export const mockContent = (
  candidate: Candidate,
  request: ExplainedRequest,
  mock: MockConfig,
): PlannedResponse | undefined =>
  placeCandidate(candidate)
    .map((placed) => planResponse(mock, planOptions(placed, request)))
    .at(0);

const nearMissesFirst = (responses: readonly UnmatchedResponse[]): readonly UnmatchedResponse[] =>
  responses.toSorted((a, b) => a.unmet.length - b.unmet.length);

const shorten = (unmet: UnmetCondition): ExplainedCondition => {
  if ('drawn' in unmet) {
    const { condition, drawn, key } = unmet;
    const { on, percent, key: expression } = condition;
    const shown = key === undefined ? undefined : shortText(key);
    const seen = shown === undefined ? [] : [shown];
    const value = expression && shortText(expression.source);
    return {
      on,
      name: '',
      type: 'Draw',
      ...(value !== undefined && { value }),
      seen,
      seenCount: seen.length,
      message: describeDraw(percent, shown, drawn),
    };
  }
  if ('error' in unmet) {
    const { on, source } = unmet.condition;
    const value = shortText(source);
    const message = describeExpression(value, unmet.error);
    return { on, name: '', type: 'CEL', value, seen: [], seenCount: 0, message };
  }
  const { condition, seen, isOutOfBudget } = unmet;
  const { on, name, type, value } = condition;
  const short = {
    on,
    name: shortText(name),
    type,
    ...(value !== undefined && { value: shortText(value) }),
    seen: seen.slice(0, LIMITS.explainedValuesMax).map(shortText),
    seenCount: seen.length,
  };
  return { ...short, message: describeUnmet({ ...short, isOutOfBudget }) };
};

const shortText = (text: string): string =>
  text.length <= LIMITS.explainedValueLengthMax
    ? text
    : `${text.slice(0, LIMITS.explainedValueLengthMax - 1).toWellFormed()}…`;
