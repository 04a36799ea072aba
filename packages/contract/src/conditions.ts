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
 * `Accepted`: the object is valid and does not conflict with an older object.
 * `ResolvedRefs`: everything that the object refers to exists and is ready.
 * `Programmed`: all known gateways have acknowledged the object.
 * `Ready`: the three conditions above are True at this generation. For a Share: the link shows the request.
 * `Decided`: the Expectation has ended, with `Met` or `Failed`.
 * `QuotaAvailable`: no requests of the account are rejected because of its quota.
 *
 * The other types are present only while they are True.
 * `QuotaMismatch`: the log has more requests than permits were granted, or two requests with the same permit.
 * `Complete`: the Replay, KeyRegeneration or Purge has succeeded. `Failed`: it has ended in any other way (as for a batch/v1 Job).
 * `Met`: the log has as many requests as the Expectation requires. If it has not, or if that is not known, `Failed` is True.
 * `Reconciling`: the operation has not ended, or the operator has not processed the new object yet.
 * `Stalled`: only a change to an object can resolve the problem (kstatus).
 */
export const CONDITION_TYPES = [
  'Accepted',
  'ResolvedRefs',
  'Programmed',
  'Ready',
  'Complete',
  'Decided',
  'Met',
  'Failed',
  'QuotaAvailable',
  'QuotaMismatch',
  'Reconciling',
  'Stalled',
] as const;
export type ConditionType = (typeof CONDITION_TYPES)[number];

/** The closed list of reasons; docs/reference/conditions.md explains each. */
export const CONDITION_REASONS = [
  // Accepted
  'Accepted',
  'Pending',
  'Invalid',
  'Conflicted',
  'IdentityInvalid',
  'IdentityNotRecorded',
  'NotPermitted',
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
  'ConfigMapNotFound',
  'ConfigMapInvalid',
  'ConfigMapsNotReadable',
  // Programmed
  'Programmed',
  'NotProgrammed',
  'PartiallyProgrammed',
  'NoGateway',
  'Rejected',
  // Ready
  'Ready',
  'NotReady',
  // Accepted, for one-time operations
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
  // Decided, Met and Failed
  'Met',
  'Unmet',
  'Undetermined',
  // QuotaAvailable
  'QuotaAvailable',
  'QuotaNearlyUsedUp',
  'QuotaUsedUp',
  // QuotaMismatch
  'QuotaMismatch',
] as const;
export type ConditionReason = (typeof CONDITION_REASONS)[number];
