import { LIMITS, printable, type Condition, type ConditionReason, type ConditionType } from '@standin/contract';
import type { ProgrammedState } from '../publish/gateway-registry.ts';
import type { Finding, Verdict } from '../translate/index.ts';

const yes = (reason: ConditionReason, message: string): Finding => ({ ok: true, reason, message });
const no = (reason: ConditionReason, message: string): Finding => ({ ok: false, reason, message });

/**
 * How gateways stand to an object, as a finding.
 *
 * @param state undefined: nothing of the object is sent to gateways
 * @param standing what the status says by now, if it is about the same content. It stands while nobody contradicts it: when a new
 *   leader's gateways are not back yet, and when the last gateway is gone, nothing has to be rewritten.
 */
export const programmedFinding = (state: ProgrammedState | undefined, standing?: Condition): Finding => {
  const wasProgrammed = standing?.status === 'True' ? yes('Programmed', standing.message) : undefined;
  switch (state?.kind) {
    case undefined:
      return no('NotProgrammed', 'The object is not sent to gateways: see Accepted and ResolvedRefs.');
    case 'programmed':
      return yes('Programmed', 'All gateways have acknowledged it.');
    case 'no-gateway':
      return wasProgrammed ?? no('NoGateway', 'No gateway is connected to the operator.');
    case 'waiting':
      if (state.unheard && wasProgrammed !== undefined) return wasProgrammed;
      if (state.unheard && standing?.reason === 'Rejected') return no('Rejected', standing.message);
      return state.gateways.length === state.known
        ? no('NotProgrammed', `No gateway has acknowledged it yet: waiting for ${listNames(state.gateways)}.`)
        : no('PartiallyProgrammed', `Waiting for ${listNames(state.gateways)}.`);
    case 'rejected':
      return no('Rejected', `${state.gateway} cannot use it: ${state.message}`);
  }
};

const NAMES_MAX = 5;
const listNames = (names: readonly string[]): string =>
  names.length <= NAMES_MAX
    ? names.join(', ')
    : `${names.slice(0, NAMES_MAX).join(', ')} and ${names.length - NAMES_MAX} more`;

/** The first thing that keeps the object from being ready is what `Ready` says. */
const readyFinding = (findings: readonly Finding[]): Finding => {
  const broken = findings.find(({ ok }) => !ok);
  return broken === undefined ? yes('Ready', 'It is live on all gateways.') : no(broken.reason, broken.message);
};

/** Reasons that no waiting mends: somebody has to change the object (kstatus: Stalled). */
const STALLING: ReadonlySet<ConditionReason> = new Set(['Invalid', 'Conflicted', 'SecretInvalid', 'Rejected']);

export interface ConditionContext {
  /** The generation that was looked at. */
  readonly generation: number;
  /** The conditions that the object's status has now. */
  readonly before: readonly Condition[];
  /** RFC 3339. */
  readonly now: string;
}

/** A finding as a condition; one whose status stays the same keeps its transition time. Its message may quote a stranger, and is read in terminals. */
export const conditionOf = (
  type: ConditionType,
  { ok, reason, message }: Finding,
  { generation, before, now }: ConditionContext,
): Condition => {
  const status = ok ? 'True' : 'False';
  const previous = before.find((candidate) => candidate.type === type);
  return {
    type,
    status,
    reason,
    message: printable(message).slice(0, LIMITS.conditionMessageLengthMax),
    observedGeneration: generation,
    lastTransitionTime: previous?.status === status ? previous.lastTransitionTime : now,
  };
};

/**
 * The conditions of an object. A condition whose status stays the same keeps its transition time.
 *
 * @param programmed of `programmedFinding`
 * @param before the conditions that the object's status has now
 * @param now RFC 3339
 */
export const conditionsOf = (
  verdict: Verdict,
  programmed: Finding,
  before: readonly Condition[],
  now: string,
): Condition[] => {
  const ready = readyFinding([verdict.accepted, verdict.resolvedRefs, programmed]);
  const condition = (type: ConditionType, finding: Finding): Condition =>
    conditionOf(type, finding, { generation: verdict.generation, before, now });
  return [
    condition('Accepted', verdict.accepted),
    condition('ResolvedRefs', verdict.resolvedRefs),
    condition('Programmed', programmed),
    condition('Ready', ready),
    ...(!ready.ok && STALLING.has(ready.reason) ? [condition('Stalled', { ...ready, ok: true })] : []),
  ];
};
