import {
  LIMITS,
  listText,
  printable,
  type Condition,
  type ConditionReason,
  type ConditionType,
  type ResourceObject,
} from '@standin/contract';
import { conditionsIn } from '@standin/crds';
import type { ProgrammedState } from '../gateways/gateway-record.ts';
import type { Finding, Verdict } from '../translate/index.ts';

const yes = (reason: ConditionReason, message: string): Finding => ({ ok: true, reason, message });
const no = (reason: ConditionReason, message: string): Finding => ({ ok: false, reason, message });

/**
 * Returns the state of an object at the gateways as a finding.
 *
 * @param state undefined if gateways do not use the object
 * @param standing the `Programmed` condition in the current status, if it is about the same content. It remains valid until a
 * gateway contradicts it, so that nothing is rewritten when a new leader's gateways have not reconnected yet, or when the last
 * gateway is gone.
 */
export const programmedFinding = (state: ProgrammedState | undefined, standing?: Condition): Finding => {
  const wasProgrammed = standing?.status === 'True' ? yes('Programmed', standing.message) : undefined;
  switch (state?.kind) {
    case undefined:
      return no('NotProgrammed', 'Gateways do not use the object: see Accepted and ResolvedRefs.');
    case 'programmed':
      return yes('Programmed', 'All gateways have acknowledged the object.');
    case 'no-gateway':
      return wasProgrammed ?? no('NoGateway', 'No gateway is connected to the operator.');
    case 'waiting':
      if (state.unheard && wasProgrammed !== undefined) return wasProgrammed;
      if (state.unheard && standing?.reason === 'Rejected') return no('Rejected', standing.message);
      return state.gateways.length === state.known
        ? no('NotProgrammed', `No gateway has acknowledged the object yet: waiting for ${listNames(state.gateways)}.`)
        : no(
            'PartiallyProgrammed',
            `Some gateways have not acknowledged the object yet: waiting for ${listNames(state.gateways)}.`,
          );
    case 'rejected':
      return no('Rejected', `${state.gateway} cannot use the object: ${state.message}`);
  }
};

/**
 * Returns the state at the gateways of an object that they must not use.
 *
 * @param state undefined if no gateway may still use the earlier keys or secrets of the object
 */
export const withdrawnFinding = (state: ProgrammedState | undefined): Finding =>
  state?.kind === 'waiting'
    ? no(
        'NotProgrammed',
        `Gateways must no longer use the object, but some may still use it: waiting for ${listNames(state.gateways)}.`,
      )
    : programmedFinding(state);

const NAMES_MAX = 5;
const listNames = (names: readonly string[]): string =>
  names.length <= NAMES_MAX
    ? listText(names)
    : `${names.slice(0, NAMES_MAX).join(', ')} and ${names.length - NAMES_MAX} more`;

/** Returns the finding for `Ready`, which reports the first finding that is not ok. */
const readyFinding = (findings: readonly Finding[]): Finding => {
  const broken = findings.find(({ ok }) => !ok);
  return broken === undefined ? yes('Ready', 'The object is live on all gateways.') : no(broken.reason, broken.message);
};

/** Reasons that do not resolve by themselves, because a user has to act. kstatus calls an object with such a reason Stalled. */
export const STALLING: ReadonlySet<ConditionReason> = new Set([
  'Invalid',
  'Conflicted',
  'LimitReached',
  'IdentityInvalid',
  'NotPermitted',
  'SecretInvalid',
  'Rejected',
]);

export interface ConditionContext {
  /** The generation that the conditions describe. */
  readonly generation: number;
  /** The conditions in the object's current status. */
  readonly before: readonly Condition[];
  /** The current time in RFC 3339 format. */
  readonly now: string;
}

/** Formats a time in RFC 3339 with seconds, as Kubernetes does. */
export const formatSeconds = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;

/** For conditions that describe this version of an object. */
export const conditionContext = (
  { metadata: { generation }, status }: Pick<ResourceObject, 'metadata' | 'status'>,
  date: Date,
): ConditionContext => ({ generation, before: conditionsIn(status), now: formatSeconds(date) });

/**
 * Converts a finding into a condition. The transition time stays the same if the condition's status is unchanged, unless the
 * earlier condition has no generation. The message is made printable, because it may contain untrusted text and is shown in
 * terminals.
 */
export const nextCondition = (
  type: ConditionType,
  { ok, reason, message }: Finding,
  { generation, before, now }: ConditionContext,
): Condition => {
  const status = ok ? 'True' : 'False';
  const previous: Partial<Condition> | undefined = before.find((candidate) => candidate.type === type);
  const isSame = previous?.status === status && previous.observedGeneration !== undefined;
  return {
    type,
    status,
    reason,
    message: printable(message).slice(0, LIMITS.conditionMessageLengthMax),
    observedGeneration: generation,
    lastTransitionTime: (isSame ? previous.lastTransitionTime : undefined) ?? now,
  };
};

/**
 * Returns the conditions of an object. A condition whose status is unchanged keeps its transition time.
 *
 * @param programmed the result of `programmedFinding`
 * @param before the conditions in the object's current status
 * @param now the current time in RFC 3339 format
 */
export const nextConditions = (
  verdict: Verdict,
  programmed: Finding,
  before: readonly Condition[],
  now: string,
): Condition[] => {
  const ready = readyFinding([verdict.accepted, verdict.resolvedRefs, programmed]);
  const condition = (type: ConditionType, finding: Finding): Condition =>
    nextCondition(type, finding, { generation: verdict.generation, before, now });
  return [
    condition('Accepted', verdict.accepted),
    condition('ResolvedRefs', verdict.resolvedRefs),
    condition('Programmed', programmed),
    condition('Ready', ready),
    ...(!ready.ok && STALLING.has(ready.reason) ? [condition('Stalled', { ...ready, ok: true })] : []),
  ];
};

export const isReady = ({ type, status }: Pick<Condition, 'type' | 'status'>): boolean =>
  type === 'Ready' && status === 'True';
