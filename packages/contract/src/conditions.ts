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
 * `Accepted`: the object is valid. `ResolvedRefs`: everything it refers to exists. `Programmed`: all known gateways have
 * acknowledged it. `Ready`: all three, at this generation. `Complete`: a one-time action has ended. `QuotaAvailable`: the
 * account's requests are not rejected because of its quota. Two types are present only while they are True: `QuotaMismatch` (the
 * log has more requests than the account's ledger granted) and `Stalled` (kstatus, abnormal-true).
 */
export const CONDITION_TYPES = [
  'Accepted',
  'ResolvedRefs',
  'Programmed',
  'Ready',
  'Complete',
  'QuotaAvailable',
  'QuotaMismatch',
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
  'ServiceNotFound',
  'ServicePortNotFound',
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
  // Complete
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
