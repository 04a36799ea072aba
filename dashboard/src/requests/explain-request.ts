import { ACTIONS, isRecord, METHODS, type LogRow, type ResourceObject } from '@standin/contract';
import { endpointRoute } from '@standin/crds';
import { explain, type Candidate, type Explanation } from '@standin/responses';
import type { Backend } from '../backend.ts';
import { projectUrl } from '../projects/projects.ts';
import { evaluatedParts } from '../captured/evaluated-parts.ts';
import { shownConditions } from '../resources/resource-view.ts';
import type { Workers } from '../workers/workers.ts';

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

/** Explains the response to a captured request with the current endpoints. Rejects with `SourceError` or `WorkRefused`. */
export const explainRequest = async (
  { backend, workers }: { readonly backend: Backend; readonly workers: Workers },
  row: LogRow,
): Promise<RequestExplanation> => {
  const { id, namespace, project, receivedAtUs, method, path, query, requestHeaders: headers, requestBody: body } = row;
  const objects = await backend.resources.list('Endpoint', namespace);
  // Of several with the same place, the last one has it: one that is accepted, or else the oldest.
  const candidates = objects
    .toSorted(byAge)
    .toReversed()
    .flatMap((object) => toCandidates(object, project))
    .sort((a, b) => Number(a.rules !== undefined) - Number(b.rules !== undefined));
  const url = await projectUrl(backend, { namespace, project });
  const request = { id, receivedAtUs, project, projectUrl: url, method, path, query, headers, body };
  // Finds the endpoint. A worker compiles and evaluates its responses, which can take a long time.
  const found = explain(candidates, request);
  const { endpoint, rejection } = found;
  // The list does not contain the large parts of an object.
  const now = endpoint && (await backend.resources.get({ kind: 'Endpoint', namespace, name: endpoint.name }));
  const evaluated =
    endpoint &&
    now &&
    rejection === undefined &&
    (await workers.run('explainEndpoint', { endpoint, object: now, request }, evaluatedParts(request, now.spec)));
  return {
    requestId: id,
    ...found,
    ...(evaluated === false ? {} : evaluated),
    captured: { endpoint: row.endpoint, generation: row.endpointGeneration, response: row.response },
    isChanged: now?.metadata.uid !== row.endpointUid || now.metadata.generation !== row.endpointGeneration,
  };
};

/** Sorts older objects first, as the operator does. */
const byAge = ({ metadata: a }: ResourceObject, { metadata: b }: ResourceObject): number =>
  (Date.parse(a.creationTimestamp) || 0) - (Date.parse(b.creationTimestamp) || 0) ||
  (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0);

const NO_RULES = { responses: [] };

/** Returns nothing for an object without a place in the gateways' configuration. */
const toCandidates = (object: ResourceObject, project: string): Candidate[] => {
  const { spec, metadata } = object;
  if (!isRecord(spec) || !isRecord(spec['projectRef']) || spec['projectRef']['name'] !== project) return [];
  const { slug } = spec;
  const method = METHODS.find((one) => one === spec['method']);
  const action = ACTIONS.find((one) => one === spec['action']);
  const accepted = shownConditions(object).find(({ type }) => type === 'Accepted');
  const isMistaken =
    accepted?.status === 'False' && (accepted.reason === 'Invalid' || accepted.reason === 'NotPermitted');
  const keepsPlace = isMistaken && endpointRoute(spec) !== undefined;
  const isAccepted = accepted?.status === 'True' && action !== undefined;
  if (typeof slug !== 'string' || method === undefined || !(isAccepted || keepsPlace)) return [];
  const { namespace, name, generation } = metadata;
  const endpoint = { namespace, name, generation, method, slug, action };
  return [{ endpoint, rules: isAccepted ? () => NO_RULES : undefined }];
};
