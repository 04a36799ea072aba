import { GROUP_VERSION, type DesiredObject } from '@standin/contract';

export interface ReplayIdentity {
  readonly namespace: string;
  readonly project: string;
  /** Name of the Replay. */
  readonly name: string;
}

export const replayObject = (
  { namespace, project, name }: ReplayIdentity,
  spec: Readonly<Record<string, unknown>>,
): DesiredObject => ({
  apiVersion: GROUP_VERSION,
  kind: 'Replay',
  metadata: { name, namespace },
  spec: { projectRef: { name: project }, ...spec },
});
