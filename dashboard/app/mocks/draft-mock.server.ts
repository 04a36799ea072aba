import type { DesiredObject, ResourceObject } from '@standin/contract';
import type { LogEntry } from '@standin/logstore';
import type { Backend } from '../../src/backend.ts';
import type { DiffLine } from '../diff/answer-diff.ts';
import { diffLines } from '../diff/diff-lines.ts';
import { orFail } from '../lib/failures.server.ts';
import { desiredOf, manifestYaml } from '../lib/manifest-yaml.server.ts';
import { ownerOf, ownershipReason } from '../lib/ownership.ts';
import type { ExchangeParams } from '../lib/paths.ts';
import { endpointSpec } from '../lib/resources.server.ts';
import { readExchange } from '../exchange/read-exchange.server.ts';
import { mockOfAnswer } from './mock-of-answer.server.ts';

/** What an endpoint would become if it answered with a captured answer from now on. */
interface MockDraft {
  readonly object: DesiredObject;
  readonly generation: number;
  /** Of the manifest, before and after. */
  readonly lines: readonly DiffLine[];
  readonly yaml: string;
  readonly dropped: readonly string[];
  readonly decoded: readonly string[];
  /** Why it cannot be saved here: a tool manages the endpoint, or the API server objects. */
  readonly obstacle: string | undefined;
}

export interface MockPage {
  readonly entry: LogEntry;
  /** `undefined` where the endpoint is gone. */
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

const draftOf = async (
  backend: Backend,
  entry: LogEntry,
  before: ResourceObject,
): Promise<MockDraft | { reason: string }> => {
  const made = mockOfAnswer(entry);
  if (!made.ok) return { reason: made.reason };
  const { mock, dropped, decoded } = made;
  const old = desiredOf(before);
  const object = { ...old, spec: { ...(old.spec as object), action: 'JSON', json: mock } };
  const yaml = manifestYaml(object, backend.mode);
  const { lines, total } = diffLines(manifestYaml(old, backend.mode), yaml);
  if (total === 0) return { reason: 'The endpoint answers with exactly this already.' };
  const { generation } = before.metadata;
  return { object, generation, lines, yaml, dropped, decoded, obstacle: await obstacleOf(backend, before, object) };
};

/** A captured answer as its endpoint's mock; throws the page that says so where there is no such request. */
export const loadMockPage = async (backend: Backend, params: ExchangeParams): Promise<MockPage> => {
  const entry = await readExchange(backend, params, (log, id) => log.get(id));
  const { namespace, project } = params;
  const found = await orFail(backend.resources.get({ kind: 'Endpoint', namespace, name: entry.endpoint }));
  if (found === undefined || endpointSpec(found).projectRef?.name !== project)
    return { entry, endpoint: undefined, draft: { reason: 'The endpoint that gave this answer is gone.' } };
  if (found.metadata.uid !== entry.endpointUid)
    return {
      ...{ entry, endpoint: found },
      draft: { reason: 'The endpoint that gave this answer was deleted; this one only has its name.' },
    };
  return { entry, endpoint: found, draft: await draftOf(backend, entry, found) };
};
