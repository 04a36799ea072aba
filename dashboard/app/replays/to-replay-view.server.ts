import type { ResourceObject } from '@standin/contract';
import { progressIn, readStatus } from '@standin/crds';
import { versionText } from '../../src/expected-version.ts';
import { replaySpec } from '../../src/replays/replays.ts';
import { shownConditions } from '../../src/resources/resource-view.ts';
import type { ReplayView } from './replay-view.ts';

const progressMessage = (object: ResourceObject): string => {
  const conditions = shownConditions(object);
  const refused = conditions.find(({ type, status }) => type === 'Accepted' && status === 'False');
  return (refused ?? progressIn(conditions))?.message ?? 'Waiting for the operator.';
};

export const toReplayView = (object: ResourceObject): ReplayView => {
  const { name, uid, creationTimestamp } = object.metadata;
  const spec = replaySpec(object);
  const status = readStatus('Replay', object.status);
  const { filter, requestId = '', edit, target } = spec;
  const { result } = status;
  return {
    replay: name,
    uid,
    version: versionText(object),
    createdAt: creationTimestamp,
    what:
      filter === undefined
        ? { kind: 'one', requestId, isEdited: edit !== undefined }
        : { kind: 'many', search: filter.search ?? '', from: filter.from, to: filter.to },
    target: target?.kind ?? '',
    url: target?.url ?? '',
    ratePerSecond: spec.ratePerSecond ?? 0,
    isOrdered: spec.order === 'Original',
    state: spec.state ?? 'Running',
    phase: status.phase ?? 'Pending',
    planned: status.planned,
    sent: status.sent ?? 0,
    failed: status.failed ?? 0,
    byStatus: status.byStatus ?? [],
    startedAt: status.startedAt,
    completedAt: status.completedAt,
    result: result && { status: result.status ?? 0, durationMs: result.durationMs ?? 0 },
    message: progressMessage(object),
  };
};
