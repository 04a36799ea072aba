import type { DesiredObject, LogRow, ResourceObject } from '@standin/contract';
import type { Backend } from '../backend.ts';
import { capturedOf } from '../captured/captured-bytes.ts';
import type { MockChange } from '../captured/draft-of-row.ts';
import { ownerOf, ownershipReason } from '../resources/ownership.ts';
import { problemText } from '../resources/problem-text.ts';
import { endpointSpec } from '../resources/specs.ts';
import type { Workers } from '../workers/workers.ts';

interface MockDraft extends MockChange {
  /** Reason why the mock cannot be saved here. A tool manages the endpoint, or the API server rejects the change. */
  readonly obstacle: string | undefined;
}

export interface DraftedMock {
  /** Undefined if the endpoint no longer exists. */
  readonly endpoint: ResourceObject | undefined;
  readonly draft: MockDraft | { readonly reason: string };
}

const obstacleOf = async ({ resources }: Backend, before: ResourceObject, object: DesiredObject) => {
  const owner = ownerOf(before);
  if (owner !== undefined) return ownershipReason(owner);
  const problems = await resources.check(object, before.metadata.generation);
  return problems.length === 0 ? undefined : problemText(problems);
};

/**
 * Converts a captured response to its endpoint's mock. Transfers the row's long bodies to a worker, so they are empty afterwards.
 * Rejects with `SourceError` or `WorkRefused`.
 */
export const draftMock = async (
  { backend, workers }: { readonly backend: Backend; readonly workers: Workers },
  project: string,
  row: LogRow,
): Promise<DraftedMock> => {
  const { namespace, endpoint: name } = row;
  const endpoint = await backend.resources.get({ kind: 'Endpoint', namespace, name });
  if (endpoint === undefined || endpointSpec(endpoint).projectRef?.name !== project)
    return { endpoint: undefined, draft: { reason: 'The endpoint that returned this response no longer exists.' } };
  const draft = await workers.run('draftMock', { row, endpoint, mode: backend.mode }, capturedOf(row));
  if ('reason' in draft) return { endpoint, draft };
  return { endpoint, draft: { ...draft, obstacle: await obstacleOf(backend, endpoint, draft.object) } };
};
