import { errorMessage, type HeaderPair, type JsonMockConfig, type ResponseConfig } from '@standin/contract';
import {
  compileRules,
  CandidateTable,
  mockContent,
  type Candidate,
  type CandidateRules,
  type ExplainedEndpoint,
  type ExplainedRequest,
  type Explanation,
  type PlannedResponse,
  type PlannedDelay,
} from '@standin/responses';

/** An endpoint as the form describes it, a request, and the response that the user edits. */
export interface PreviewInput {
  readonly endpoint: ExplainedEndpoint;
  readonly responses: readonly ResponseConfig[];
  /** The default response. Undefined if it comes from an upstream. */
  readonly mock: JsonMockConfig | undefined;
  readonly request: ExplainedRequest;
  /** The index of a response, or `default`. Undefined if the user has not edited any. */
  readonly edited: number | 'default' | undefined;
}

/** The content of a response, as far as it is shown. */
export type ContentView =
  | {
      readonly kind: 'Mock';
      readonly status: number;
      readonly headers: readonly HeaderPair[];
      /** The beginning of the body. Undefined if the body is binary. */
      readonly body: string | undefined;
      readonly bodyBytes: number;
      readonly isCut: boolean;
      readonly delay: PlannedDelay | undefined;
    }
  | { readonly kind: 'TemplateFailed' | 'Invalid'; readonly reason: string };

/** What an endpoint would respond with to a request. */
export interface ResponsePreview extends Pick<Explanation, 'rejection' | 'response' | 'unmatched'> {
  /** Undefined if an upstream responds, or if the endpoint does not get the request. */
  readonly content: ContentView | undefined;
  /** The response that the user edits, if another one responds. An empty name is the default response. */
  readonly edited: { readonly name: string; readonly content: ContentView } | undefined;
}

/** The maximum number of characters of a body, and of the value of a header, that pages receive. */
const BODY_SHOWN_MAX = 16 * 1024;
const HEADER_SHOWN_MAX = 1_000;

/** Returns what the endpoint would respond with, rendered as gateways do, or why it cannot respond. */
export const previewResponse = (input: PreviewInput): ResponsePreview | { readonly unavailable: string } => {
  const { endpoint, responses, mock, request } = input;
  const rules = tryCompileRules(responses, mock);
  if ('unavailable' in rules) return rules;
  const candidate: Candidate = { endpoint, rules: () => rules };
  const { rejection, response, unmatched, content } = new CandidateTable([candidate]).explain(request);
  return {
    rejection,
    response,
    unmatched,
    content: content && toContentView(content),
    edited: rejection === undefined ? explainEdited(input, candidate, response) : undefined,
  };
};

const tryCompileRules = (
  ...config: Parameters<typeof compileRules>
): CandidateRules | { readonly unavailable: string } => {
  try {
    return compileRules(...config);
  } catch (error) {
    return { unavailable: `There is an error: ${errorMessage(error)}.` };
  }
};

const explainEdited = (
  { responses, mock, request, edited }: PreviewInput,
  candidate: Candidate,
  response: string | undefined,
): ResponsePreview['edited'] => {
  const own = edited === 'default' ? { name: '', mock } : responses[edited ?? -1];
  if (own?.mock === undefined || own.name === (response ?? '')) return undefined;
  const content = mockContent(candidate, request, own.mock);
  return content && { name: own.name, content: toContentView(content) };
};

const toContentView = (content: PlannedResponse): ContentView => {
  if (content.kind !== 'Mock') return { kind: content.kind, reason: content.reason };
  const { kind, status, headers, body, bodyEncoding, delay } = content;
  const isText = bodyEncoding === 'utf8';
  return {
    kind,
    status,
    delay,
    headers: headers.map(([name, value]) => [name, cut(value, HEADER_SHOWN_MAX)]),
    body: isText ? cut(body, BODY_SHOWN_MAX) : undefined,
    bodyBytes: Buffer.byteLength(body, bodyEncoding),
    isCut: isText && body.length > BODY_SHOWN_MAX,
  };
};

const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text);
