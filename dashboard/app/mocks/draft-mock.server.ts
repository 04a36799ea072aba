import type { DesiredObject, LogRow, ResourceObject } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import { capturedOf } from '../../src/workers/captured-of.ts';
import type { Workers } from '../../src/workers/workers.ts';
import { readRow } from '../exchange/captured-row.server.ts';
import { orFail } from '../lib/failures.server.ts';
import { ownerOf, ownershipReason } from '../lib/ownership.ts';
import type { ExchangeParams } from '../lib/paths.ts';
import { endpointSpec } from '../lib/resources.server.ts';
import type { MockChange } from './draft-of-row.server.ts';

interface MockDraft extends MockChange {
  /** Why it cannot be saved here: a tool manages the endpoint, or the API server refuses it. */
  readonly obstacle: string | undefined;
}

export interface MockPage {
  /** Without its bodies, which a worker has. */
  readonly row: LogRow;
  /** Undefined: the endpoint no longer exists. */
  readonly endpoint: ResourceObject | undefined;
  readonly draft: MockDraft | { readonly reason: string };
}

const obstacleOf = async ({ resources }: Backend, before: ResourceObject, object: DesiredObject) => {
  const owner = ownerOf(before);
  if (owner !== undefined) return ownershipReason(owner);
  const problems = await orFail(resources.check(object, before.metadata.generation));
  if (problems.length === 0) return undefined;
  return problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
};

/** A captured response as its endpoint's mock. Throws an error page if the request does not exist. */
export const loadMockPage = async (
  { backend, workers }: { readonly backend: Backend; readonly workers: Workers },
  params: ExchangeParams,
): Promise<MockPage> => {
  const row = await readRow(backend, params);
  const { namespace, project } = params;
  const endpoint = await orFail(backend.resources.get({ kind: 'Endpoint', namespace, name: row.endpoint }));
  if (endpoint === undefined || endpointSpec(endpoint).projectRef?.name !== project)
    return { row, endpoint: undefined, draft: { reason: 'The endpoint that gave this answer is gone.' } };
  if (endpoint.metadata.uid !== row.endpointUid)
    return {
      ...{ row, endpoint },
      draft: { reason: 'The endpoint that gave this answer was deleted; this one only has its name.' },
    };
  const draft = await orFail(workers.run('draftMock', { row, endpoint, mode: backend.mode }, capturedOf(row)));
  if ('reason' in draft) return { row, endpoint, draft };
  return { row, endpoint, draft: { ...draft, obstacle: await obstacleOf(backend, endpoint, draft.object) } };
};
