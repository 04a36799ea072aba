import { LIMITS, type ConditionReason, type ResourceObject } from '@standin/contract';
import { parseObject } from './parse.ts';
import type { AccountSpec } from './v1alpha1/account.ts';
import type { ProjectSpec } from './v1alpha1/project.ts';
import type { ShareSpec } from './v1alpha1/share.ts';

/** The objects that a Share refers to, directly or through its Project, by name in its own namespace. */
export interface ShareSurroundings {
  object(kind: 'Project' | 'Account', namespace: string, name: string): ResourceObject | undefined;
}

export interface ShareRefusal {
  readonly reason: ConditionReason;
  /** What is wrong and what to change. */
  readonly message: string;
  readonly path?: string;
}

/** Allows for a difference between the clock of the Share's creator and the clock that sets the creation time. */
const CLOCK_SKEW_MS = 5 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/**
 * Returns why a Share may not be shown, or undefined if it may. Operator and dashboard both decide by this function, because users
 * may be able to edit a Share's status.
 *
 * @param spec the valid spec of the Share
 * @param now milliseconds since the epoch
 */
export const shareRefusal = (
  { metadata: { namespace, creationTimestamp } }: Pick<ResourceObject, 'metadata'>,
  { projectRef, expiresAt }: ShareSpec,
  surroundings: ShareSurroundings,
  now: number,
): ShareRefusal | undefined => {
  const expiresAtMs = Date.parse(expiresAt);
  const path = 'spec.expiresAt';
  if (expiresAtMs > Date.parse(creationTimestamp) + LIMITS.shareLifetimeMsMax + CLOCK_SKEW_MS) {
    const days = LIMITS.shareLifetimeMsMax / DAY_MS;
    const message = `spec.expiresAt: must be at most ${days} days after the Share was created. Create another Share.`;
    return { reason: 'Invalid', message, path };
  }
  if (expiresAtMs <= now) return { reason: 'Expired', message: `The link expired at ${expiresAt}.`, path };
  const project = projectSpec(surroundings.object('Project', namespace, projectRef.name));
  if (project === undefined) {
    const message = `There is no valid Project ${projectRef.name} in this namespace: create or correct the Project.`;
    return { reason: 'ProjectNotFound', message, path: 'spec.projectRef.name' };
  }
  const account = accountSpec(surroundings.object('Account', namespace, project.accountRef.name));
  if (account === undefined) {
    const message = `Project ${projectRef.name} has no valid Account: create or correct Account ${project.accountRef.name} in this namespace.`;
    return { reason: 'ProjectNotReady', message, path: 'spec.projectRef.name' };
  }
  if (account.plan === 'Pro') return undefined;
  const message = `Sharing needs the Pro plan, but Account ${project.accountRef.name} is on the ${account.plan} plan. Ask an administrator to set spec.plan to Pro.`;
  return { reason: 'NotInPlan', message };
};

const projectSpec = (object: ResourceObject | undefined): ProjectSpec | undefined => {
  const parsed = object === undefined ? undefined : parseObject(object);
  return parsed?.ok === true && parsed.value.kind === 'Project' ? parsed.value.spec : undefined;
};

const accountSpec = (object: ResourceObject | undefined): AccountSpec | undefined => {
  const parsed = object === undefined ? undefined : parseObject(object);
  return parsed?.ok === true && parsed.value.kind === 'Account' ? parsed.value.spec : undefined;
};
