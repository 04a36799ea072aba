import type { DesiredObject, LogRow, ResourceObject } from '@standin/contract';
import type { Backend } from '../backend.ts';
import { capturedParts } from '../captured/captured-bytes.ts';
import type { Draft, MockChange, MockChoice, MockOptions } from '../captured/draft-of-row.ts';
import { managingTool, ownershipReason } from '../resources/ownership.ts';
import { problemText } from '../resources/problem-text.ts';
import { endpointSpec } from '../resources/specs.ts';
import type { Workers } from '../workers/workers.ts';

/** A change, and the reason why it cannot be saved here. A tool manages the endpoint, or the API server rejects the change. */
type CheckedChange = MockChange & { readonly obstacle: string | undefined };

export interface DraftedMock {
  /** Undefined if the endpoint no longer exists. */
  readonly endpoint: ResourceObject | undefined;
  /** Undefined if there is nothing to choose from, because the endpoint no longer exists. */
  readonly options: MockOptions | undefined;
  readonly draft: CheckedChange | { readonly reason: string };
}

const findObstacle = async ({ resources }: Backend, before: ResourceObject, object: DesiredObject) => {
  const owner = managingTool(before);
  if (owner !== undefined) return ownershipReason(owner);
  const problems = await resources.check(object, before.metadata);
  return problems.length === 0 ? undefined : problemText(problems);
};

/**
 * Converts a captured response to its endpoint's mock, or to one of its responses. Transfers the row's long bodies to a worker, so
 * they are empty afterwards. Rejects with `SourceError` or `WorkRefused`.
 */
export const draftMock = async (
  { backend, workers }: { readonly backend: Backend; readonly workers: Workers },
  project: string,
  row: LogRow,
  choice: MockChoice,
): Promise<DraftedMock> => {
  const { namespace, endpoint: name } = row;
  const endpoint = await backend.resources.get({ kind: 'Endpoint', namespace, name });
  if (endpoint === undefined || endpointSpec(endpoint).projectRef?.name !== project) {
    const reason = 'The endpoint that returned this response no longer exists.';
    return { endpoint: undefined, options: undefined, draft: { reason } };
  }
  const { options, ...draft }: Draft = await workers.run(
    'draftMock',
    { row, endpoint, mode: backend.mode, choice },
    capturedParts(row),
  );
  if ('reason' in draft) return { endpoint, options, draft };
  return { endpoint, options, draft: { ...draft, obstacle: await findObstacle(backend, endpoint, draft.object) } };
};
