import { LIMITS, type ConditionReason, type ResourceObject } from '@standin/contract';
import { parseObject, type AccountSpec, type ProjectSpec, type ShareSpec } from '@standin/crds';
import { fails, holds, invalid } from '../translate/findings.ts';
import { conditionOf, type ConditionContext } from '../status/conditions.ts';
import type { StatusFields } from '../status/status-writer.ts';
import type { Finding } from '../translate/index.ts';

/** The objects that a Share refers to, directly or through its Project, by name in its own namespace. */
export interface ShareSurroundings {
  object(kind: 'Project' | 'Account', namespace: string, name: string): ResourceObject | undefined;
}

export interface ShareVerdict {
  readonly accepted: Finding;
  /** The entry that an accepted Share shows. */
  readonly entry?: { readonly requestId: string; readonly projectUid: string; readonly project: string };
  /** When the Share expires, in milliseconds since the epoch. Undefined if unknown. */
  readonly expiresAtMs?: number;
}

/** Allows for a difference between the clock of the Share's creator and the clock that sets the creation time. */
const CLOCK_SKEW_MS = 5 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

const projectSpec = (object: ResourceObject | undefined): ProjectSpec | undefined => {
  const parsed = object === undefined ? undefined : parseObject(object);
  return parsed?.ok === true && parsed.value.kind === 'Project' ? parsed.value.spec : undefined;
};

const accountSpec = (object: ResourceObject | undefined): AccountSpec | undefined => {
  const parsed = object === undefined ? undefined : parseObject(object);
  return parsed?.ok === true && parsed.value.kind === 'Account' ? parsed.value.spec : undefined;
};

/**
 * Decides whether a Share's content may be shown.
 *
 * @param now milliseconds since the epoch
 */
export const judgeShare = (share: ResourceObject, surroundings: ShareSurroundings, now: number): ShareVerdict => {
  const parsed = parseObject(share);
  if (!parsed.ok) return { accepted: invalid(parsed.problems) };
  const { projectRef, requestId, expiresAt } = parsed.value.spec as ShareSpec;
  const expiresAtMs = Date.parse(expiresAt);
  const { namespace, creationTimestamp } = share.metadata;
  const latest = Date.parse(creationTimestamp) + LIMITS.shareLifetimeMsMax + CLOCK_SKEW_MS;
  const verdict = (accepted: Finding): ShareVerdict => ({ accepted, expiresAtMs });
  if (expiresAtMs > latest) {
    const days = LIMITS.shareLifetimeMsMax / DAY_MS;
    const message = `spec.expiresAt: must be at most ${days} days after the Share was created. Create another Share.`;
    return verdict(fails('Invalid', message, 'spec.expiresAt'));
  }
  if (expiresAtMs <= now) return verdict(fails('Expired', `The link expired at ${expiresAt}.`, 'spec.expiresAt'));
  const projectObject = surroundings.object('Project', namespace, projectRef.name);
  const project = projectSpec(projectObject);
  if (projectObject === undefined || project === undefined) {
    const message = `There is no valid Project ${projectRef.name} in this namespace: create or correct the Project.`;
    return verdict(fails('ProjectNotFound', message, 'spec.projectRef.name'));
  }
  const account = accountSpec(surroundings.object('Account', namespace, project.accountRef.name));
  if (account === undefined) {
    const message = `Project ${projectRef.name} has no valid Account: create or correct Account ${project.accountRef.name} in this namespace.`;
    return verdict(fails('ProjectNotReady', message, 'spec.projectRef.name'));
  }
  if (account.plan !== 'Pro') {
    const message = `Sharing needs the Pro plan, but Account ${project.accountRef.name} is on the ${account.plan} plan. Ask an administrator to set spec.plan to Pro.`;
    return verdict(fails('NotInPlan', message));
  }
  const entry = { requestId, projectUid: projectObject.metadata.uid, project: projectRef.name };
  return { ...verdict(holds('Accepted', 'The Share is valid.')), entry };
};

/** Reasons that do not resolve by themselves. A missing Project may still be created. */
const STALLING: ReadonlySet<ConditionReason> = new Set(['Invalid', 'Expired', 'NotInPlan']);

/** The finding for the `Ready` condition of a Share. */
export interface Readiness {
  readonly ready: Finding;
  /** Whether only a change to an object can resolve the problem. */
  readonly isStalled: boolean;
}

export const WORKING: Readiness = { ready: holds('Ready', 'The link works.'), isStalled: false };

export const notAccepted = (accepted: Finding): Readiness => ({
  ready: accepted,
  isStalled: STALLING.has(accepted.reason),
});

/**
 * Returns the readiness of a Share whose request is not in the log.
 *
 * @param mayAppear whether a gateway has requests that are not in the log yet
 */
export const requestNotFound = (
  { requestId, project }: NonNullable<ShareVerdict['entry']>,
  mayAppear: boolean,
): Readiness => {
  const missing = `The log of Project ${project} has no request ${requestId}`;
  const message = mayAppear
    ? `${missing} yet. Gateways are still delivering requests to the log.`
    : `${missing}: the request may have expired or been purged. Delete the Share.`;
  return { ready: fails('RequestNotFound', message), isStalled: !mayAppear };
};

export const unknownRequest = (error: Error): Readiness => ({
  ready: fails('Waiting', `The log is unavailable (${error.message}). The operator will look for the request again.`),
  isStalled: false,
});

/** Returns the status fields for these findings. */
export const statusOf = (
  accepted: Finding,
  { ready, isStalled }: Readiness,
  context: ConditionContext,
): StatusFields => ({
  observedGeneration: context.generation,
  conditions: [
    conditionOf('Accepted', accepted, context),
    conditionOf('Ready', ready, context),
    ...(isStalled ? [conditionOf('Stalled', { ...ready, ok: true }, context)] : []),
  ],
});
