/** A Kubernetes condition (meta/v1 Condition). `message` has no more than `LIMITS.conditionMessageLengthMax` characters. */
export interface Condition {
  readonly type: ConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: ConditionReason;
  readonly message: string;
  readonly observedGeneration: number;
  /** RFC 3339, with a precision of seconds. */
  readonly lastTransitionTime: string;
}

/**
 * `Accepted`: the object is valid.
 * `ResolvedRefs`: everything it refers to exists.
 * `Programmed`: all known gateways have acknowledged it.
 * `Ready`: all three, at this generation. A Share: its link shows the request.
 * `QuotaAvailable`: the account's requests are not rejected because of its quota.
 * Present only while True: `QuotaMismatch`, the log has more requests than its ledger granted; `Complete` and `Failed`, how an
 * act ended (batch/v1 Job); `Reconciling`, an act has not ended; `Stalled`, only a change of an object helps (kstatus).
 */
export const CONDITION_TYPES = [
  'Accepted',
  'ResolvedRefs',
  'Programmed',
  'Ready',
  'Complete',
  'Failed',
  'QuotaAvailable',
  'QuotaMismatch',
  'Reconciling',
  'Stalled',
] as const;
export type ConditionType = (typeof CONDITION_TYPES)[number];

/** The closed list of reasons; docs/conditions.md explains each. */
export const CONDITION_REASONS = [
  // Accepted
  'Accepted',
  'Pending',
  'Invalid',
  'Conflicted',
  'IdentityInvalid',
  'IdentityNotRecorded',
  // ResolvedRefs
  'ResolvedRefs',
  'AccountNotFound',
  'AccountNotReady',
  'ProjectNotFound',
  'ProjectNotReady',
  'SecretNotFound',
  'SecretInvalid',
  'BackendNotFound',
  'ServiceNotAllowed',
  'ServicesNotReadable',
  // Programmed
  'Programmed',
  'NotProgrammed',
  'PartiallyProgrammed',
  'NoGateway',
  'Rejected',
  // Ready
  'Ready',
  'NotReady',
  // Accepted, for one-time actions
  'NotInPlan',
  'Expired',
  'RequestNotFound',
  'EndpointNotFound',
  'NoLogStore',
  'ManagedElsewhere',
  'LimitReached',
  // Reconciling, Complete and Failed
  'Running',
  'Suspended',
  'Waiting',
  'Succeeded',
  'Failed',
  'Cancelled',
  // QuotaAvailable
  'QuotaAvailable',
  'QuotaNearlyUsedUp',
  'QuotaUsedUp',
  // QuotaMismatch
  'QuotaMismatch',
] as const;
export type ConditionReason = (typeof CONDITION_REASONS)[number];
