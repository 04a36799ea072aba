import type { ResourceObject } from '@standin/contract';
import { parseObject } from '@standin/crds';
import type { Backend } from '../../src/backend.ts';
import { SHARE_TITLE } from '../../src/shares/create-share.ts';
import { orFail, refusalOf } from '../lib/failures.server.ts';
import type { ProjectParams } from '../lib/paths.ts';
import { conditionsOf } from '../lib/resource-view.ts';

/** A link, as the list shows it. */
export interface ShareView {
  readonly name: string;
  readonly requestId: string;
  /** `POST /v1/orders`, redacted; empty for one that was made elsewhere. */
  readonly title: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  /** How many names and paths it hides besides what is hidden always. */
  readonly rules: number;
  readonly state: 'works' | 'waiting' | 'expired' | 'refused';
  /** The operator's words, where it does not work. */
  readonly message: string;
}

const stateOf = (share: ResourceObject, expiresAt: string, now: number): Pick<ShareView, 'state' | 'message'> => {
  const accepted = conditionsOf(share).find(({ type }) => type === 'Accepted');
  if (Date.parse(expiresAt) <= now || accepted?.reason === 'Expired') return { state: 'expired', message: '' };
  if (accepted?.status === 'True') return { state: 'works', message: '' };
  if (accepted?.status === 'False') return { state: 'refused', message: accepted.message };
  return { state: 'waiting', message: 'The operator has not looked at it yet.' };
};

const viewOf = (share: ResourceObject, project: string, now: number): ShareView[] => {
  const parsed = parseObject(share);
  if (!parsed.ok || parsed.value.kind !== 'Share' || parsed.value.spec.projectRef.name !== project) return [];
  const { requestId, expiresAt, redact } = parsed.value.spec;
  const rules = [redact?.headers, redact?.query, redact?.jsonPaths].reduce((sum, list) => sum + (list?.length ?? 0), 0);
  const { name, creationTimestamp: createdAt, annotations } = share.metadata;
  const title = annotations?.[SHARE_TITLE] ?? '';
  return [{ name, requestId, title, createdAt, expiresAt, rules, ...stateOf(share, expiresAt, now) }];
};

/** Of one project, the newest first. */
export const listShares = async (
  { resources }: Backend,
  { namespace, project }: ProjectParams,
): Promise<readonly ShareView[]> => {
  const now = Date.now();
  const shares = await orFail(resources.list('Share', namespace));
  return shares
    .flatMap((share) => viewOf(share, project, now))
    .sort((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : a.name < b.name ? -1 : 1));
};

/** Resolves with why it was not done. */
export const revokeShare = async (
  backend: Backend,
  params: ProjectParams,
  name: string,
): Promise<string | undefined> => {
  const { namespace, project } = params;
  try {
    const share = await backend.resources.get({ kind: 'Share', namespace, name });
    // Gone already: somebody else was faster, or it expired.
    if (share === undefined) return undefined;
    if (viewOf(share, project, Date.now()).length === 0) return `There is no link ${name} in this project.`;
    await backend.resources.delete({ kind: 'Share', namespace, name });
    return undefined;
  } catch (error) {
    return refusalOf(error);
  }
};
