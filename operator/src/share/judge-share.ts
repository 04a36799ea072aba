import type { ConditionReason, ResourceObject } from '@standin/contract';
import { parseObject, shareRefusal, type ShareSpec, type ShareSurroundings } from '@standin/crds';
import { fails, holds, invalid } from '../translate/findings.ts';
import { nextCondition, type ConditionContext } from '../status/conditions.ts';
import type { StatusFields } from '../status/status-writer.ts';
import type { Finding } from '../translate/index.ts';

export interface ShareVerdict {
  readonly accepted: Finding;
  /** The entry that an accepted Share shows. */
  readonly entry?: { readonly requestId: string; readonly projectUid: string; readonly project: string };
  /** When the Share expires, in milliseconds since the epoch. Undefined if unknown. */
  readonly expiresAtMs?: number;
}

/**
 * Decides whether a Share's content may be shown.
 *
 * @param now milliseconds since the epoch
 */
export const judgeShare = (share: ResourceObject, surroundings: ShareSurroundings, now: number): ShareVerdict => {
  const parsed = parseObject(share);
  if (!parsed.ok) return { accepted: invalid(parsed.problems) };
  const spec = parsed.value.spec as ShareSpec;
  const { projectRef, requestId, expiresAt } = spec;
  const expiresAtMs = Date.parse(expiresAt);
  const refusal = shareRefusal(share, spec, surroundings, now);
  if (refusal !== undefined) return { accepted: fails(refusal.reason, refusal.message, refusal.path), expiresAtMs };
  const projectUid = surroundings.object('Project', share.metadata.namespace, projectRef.name)?.metadata.uid ?? '';
  const entry = { requestId, projectUid, project: projectRef.name };
  return { accepted: holds('Accepted', 'The Share is valid.'), expiresAtMs, entry };
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

export const shareStatus = (
  accepted: Finding,
  { ready, isStalled }: Readiness,
  context: ConditionContext,
): StatusFields => ({
  observedGeneration: context.generation,
  conditions: [
    nextCondition('Accepted', accepted, context),
    nextCondition('Ready', ready, context),
    ...(isStalled ? [nextCondition('Stalled', { ...ready, ok: true }, context)] : []),
  ],
});
