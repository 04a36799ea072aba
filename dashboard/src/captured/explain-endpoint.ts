import type { ResourceObject } from '@standin/contract';
import { jsonMockConfig, parseObject, responseConfigs } from '@standin/crds';
import {
  compileRules,
  explain,
  type CandidateRules,
  type ExplainedEndpoint,
  type ExplainedRequest,
  type Explanation,
} from '@standin/responses';

/** An endpoint that gets a request. */
export interface ExplainInput {
  readonly endpoint: ExplainedEndpoint;
  readonly object: ResourceObject;
  readonly request: ExplainedRequest;
}

/** Explains which response of an endpoint a request gets, and why not the earlier ones. */
export const explainEndpoint = ({
  endpoint,
  object,
  request,
}: ExplainInput): Pick<Explanation, 'response' | 'mock' | 'unmatched'> => {
  const { response, mock, unmatched } = explain([{ endpoint, rules: () => endpointRules(object) }], request);
  return { ...(response !== undefined && { response }), ...(mock !== undefined && { mock }), unmatched };
};

/** Returns no rules if the spec is not valid, which means that the operator has not evaluated it yet. */
const endpointRules = (object: ResourceObject): CandidateRules => {
  const parsed = parseObject(object);
  if (!parsed.ok || parsed.value.kind !== 'Endpoint') return { responses: [] };
  const { spec } = parsed.value;
  try {
    return compileRules(
      responseConfigs(spec, object.metadata.name),
      spec.action === 'JSON' ? jsonMockConfig(spec) : undefined,
    );
  } catch {
    return { responses: [] };
  }
};
