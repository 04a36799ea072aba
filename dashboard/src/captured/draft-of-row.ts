import type { DesiredObject, LogRow, ResourceObject } from '@standin/contract';
import { toLogEntry } from '@standin/exchange';
import type { DashboardMode } from '../backend.ts';
import type { DiffLine } from '../diff/answer-diff.ts';
import { diffLines } from '../diff/diff-lines.ts';
import { desiredOf, manifestYaml } from '../resources/manifest-yaml.ts';
import { mockOfAnswer } from './mock-of-answer.ts';

/** A change that makes an endpoint return a captured response. */
export interface MockChange {
  readonly object: DesiredObject;
  readonly generation: number;
  /** Differences between the manifest before and after the change. */
  readonly lines: readonly DiffLine[];
  readonly yaml: string;
  readonly dropped: readonly string[];
  readonly decoded: readonly string[];
}

/** `reason` explains why the response cannot become the mock of the endpoint. */
export type Draft = MockChange | { readonly reason: string };

export interface DraftInput {
  readonly row: LogRow;
  readonly endpoint: ResourceObject;
  readonly mode: DashboardMode;
}

export const draftOf = ({ row, endpoint, mode }: DraftInput): Draft => {
  const made = mockOfAnswer(toLogEntry(row));
  if (!made.ok) return { reason: made.reason };
  const { mock, dropped, decoded } = made;
  const old = desiredOf(endpoint);
  const object = { ...old, spec: { ...(old.spec as object), action: 'JSON', json: mock } };
  const yaml = manifestYaml(object, mode);
  const { lines, total } = diffLines(manifestYaml(old, mode), yaml);
  if (total === 0) return { reason: 'The endpoint already returns this response.' };
  return { object, generation: endpoint.metadata.generation, lines, yaml, dropped, decoded };
};
