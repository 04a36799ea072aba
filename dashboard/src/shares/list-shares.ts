import { readStatus } from '@standin/crds';
import type { ResourceObject } from '@standin/contract';
import type { Resources } from '../backend.ts';
import type { ProjectName } from '../resources/names.ts';
import { validSpec } from '../resources/specs.ts';
import { SHARE_TITLE } from './create-share.ts';

export const SHARE_STATES = ['works', 'waiting', 'expired', 'refused'] as const;

/** A link as shown in lists, without its URL. */
export interface ShareView {
  readonly name: string;
  readonly requestId: string;
  /** Such as `POST /v1/orders`. Redacted, in latin1. Empty if the Share was not created by the dashboard. */
  readonly title: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  /** Number of redacted names and paths, besides those that are always redacted. */
  readonly rules: number;
  readonly state: (typeof SHARE_STATES)[number];
  /** Why the link does not work. Empty if the link works or has expired. */
  readonly message: string;
}

const shareState = (share: ResourceObject, expiresAt: string, now: number): Pick<ShareView, 'state' | 'message'> => {
  const { conditions = [] } = readStatus('Share', share.status);
  const accepted = conditions.find(({ type }) => type === 'Accepted');
  if (Date.parse(expiresAt) <= now || accepted?.reason === 'Expired') return { state: 'expired', message: '' };
  if (accepted?.status === 'False') return { state: 'refused', message: accepted.message };
  const isStalled = conditions.some(({ type }) => type === 'Stalled');
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready?.status === 'True') return { state: 'works', message: '' };
  if (isStalled && ready !== undefined) return { state: 'refused', message: ready.message };
  return { state: 'waiting', message: ready?.status === 'False' ? ready.message : 'Waiting for the operator.' };
};

/** Returns what lists show of a Share. Returns undefined if the Share is invalid or belongs to another project. */
const toShareView = (share: ResourceObject, project: string, now: number): ShareView | undefined => {
  const spec = validSpec('Share', share);
  if (spec?.projectRef.name !== project) return undefined;
  const { requestId, expiresAt, redact } = spec;
  const rules = [redact?.headers, redact?.query, redact?.jsonPaths].reduce((sum, list) => sum + (list?.length ?? 0), 0);
  const { name, creationTimestamp: createdAt, annotations } = share.metadata;
  const title = annotations?.[SHARE_TITLE] ?? '';
  return { name, requestId, title, createdAt, expiresAt, rules, ...shareState(share, expiresAt, now) };
};

const byAge = (a: ShareView, b: ShareView): number =>
  a.createdAt === b.createdAt ? (a.name < b.name ? -1 : 1) : a.createdAt < b.createdAt ? 1 : -1;

/** Returns the Shares of one project, newest first. Rejects with `SourceError`. */
export const listShares = async (
  resources: Resources,
  { namespace, project }: ProjectName,
): Promise<readonly ShareView[]> => {
  const now = Date.now();
  const shares = await resources.list('Share', namespace);
  return shares.flatMap((share) => toShareView(share, project, now) ?? []).sort(byAge);
};

/**
 * Deletes a Share, so that its link stops working. Resolves to false if the project does not have this Share. Rejects with
 * `SourceError`.
 */
export const revokeShare = async (
  resources: Resources,
  { namespace, project }: ProjectName,
  name: string,
): Promise<boolean> => {
  const share = await resources.get({ kind: 'Share', namespace, name });
  if (share === undefined || toShareView(share, project, Date.now()) === undefined) return false;
  await resources.delete({ kind: 'Share', namespace, name }, share.metadata.uid);
  return true;
};
