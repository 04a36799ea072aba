import { ACTIONS, isRecord, METHODS, type LogRow, type ResourceObject } from '@standin/contract';
import { jsonMockOf, parseObject, responsesOf } from '@standin/crds';
import { compileRules, explain, type Candidate, type CandidateRules, type Explanation } from '@standin/responses';
import type { Backend } from '../backend.ts';
import { conditionsOf as statusConditionsOf } from '../resources/resource-view.ts';

/** Which response a captured request would get from the current endpoints of its project. */
export interface RequestExplanation extends Explanation {
  readonly requestId: string;
  /** What responded to the request. */
  readonly captured: {
    readonly endpoint: string;
    readonly generation: number;
    /** Empty if the action responded. */
    readonly response: string;
  };
  /** Whether another endpoint would respond now, or the endpoint has changed since. */
  readonly isChanged: boolean;
}

/** Explains the response to a captured request with the current endpoints. Rejects with `SourceError`. */
export const explainRequest = async ({ resources }: Backend, row: LogRow): Promise<RequestExplanation> => {
  const { id, namespace, project, receivedAtUs, method, path, query, requestHeaders: headers, requestBody: body } = row;
  const objects = await resources.list('Endpoint', namespace);
  const candidates = objects.flatMap((object) => candidateOf(object, project));
  const explanation = explain(candidates, { id, receivedAtUs, project, method, path, query, headers, body });
  const { name } = explanation.endpoint ?? {};
  const now = objects.find(({ metadata }) => metadata.name === name)?.metadata;
  return {
    requestId: id,
    ...explanation,
    captured: { endpoint: row.endpoint, generation: row.endpointGeneration, response: row.response },
    isChanged: now?.uid !== row.endpointUid || now.generation !== row.endpointGeneration,
  };
};

/**
 * Returns nothing for an object that gateways do not serve. Parses the whole spec only of the endpoint that responds, because a
 * namespace may have thousands.
 */
const candidateOf = (object: ResourceObject, project: string): Candidate[] => {
  const { spec, metadata } = object;
  if (!isRecord(spec) || !isRecord(spec['projectRef']) || spec['projectRef']['name'] !== project) return [];
  const { slug } = spec;
  const method = METHODS.find((one) => one === spec['method']);
  const action = ACTIONS.find((one) => one === spec['action']);
  if (typeof slug !== 'string' || method === undefined || action === undefined || !isAccepted(object)) return [];
  const { namespace, name, generation } = metadata;
  return [
    {
      endpoint: { namespace, name, generation, method, slug, action },
      rules: () => rulesOf(object),
    },
  ];
};

/** Returns no rules if the spec is not valid, which means that the operator has not evaluated it yet. */
const rulesOf = (object: ResourceObject): CandidateRules => {
  const parsed = parseObject(object);
  if (!parsed.ok || parsed.value.kind !== 'Endpoint') return { responses: [] };
  const { spec } = parsed.value;
  try {
    return compileRules(responsesOf(spec), spec.action === 'JSON' ? jsonMockOf(spec) : undefined);
  } catch {
    return { responses: [] };
  }
};

const isAccepted = (object: ResourceObject): boolean =>
  statusConditionsOf(object).some(({ type, status }) => type === 'Accepted' && status === 'True');
