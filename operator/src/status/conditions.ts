import { LIMITS, type Condition, type ConditionReason, type ConditionType } from '@standin/contract';
import type { ProgrammedState } from '../publish/gateway-registry.ts';
import type { Finding, Verdict } from '../translate/index.ts';

const yes = (reason: ConditionReason, message: string): Finding => ({ ok: true, reason, message });
const no = (reason: ConditionReason, message: string): Finding => ({ ok: false, reason, message });

/** How gateways stand to an object, as a finding. `undefined`: nothing of the object is sent to gateways. */
export const programmedFinding = (state: ProgrammedState | undefined): Finding => {
  switch (state?.kind) {
    case undefined:
      return no('NotProgrammed', 'The object is not sent to gateways: see Accepted and ResolvedRefs.');
    case 'programmed':
      return yes('Programmed', 'All gateways have acknowledged it.');
    case 'no-gateway':
      return no('NoGateway', 'No gateway is connected to the operator.');
    case 'waiting':
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

/**
 * The conditions of an object. A condition whose status stays the same keeps its transition time.
 *
 * @param before the conditions that the object's status has now
 * @param now RFC 3339
 */
export const conditionsOf = (
  verdict: Verdict,
  programmed: ProgrammedState | undefined,
  before: readonly Condition[],
  now: string,
): Condition[] => {
  const programmedNow = programmedFinding(programmed);
  const ready = readyFinding([verdict.accepted, verdict.resolvedRefs, programmedNow]);
  const condition = (type: ConditionType, { ok, reason, message }: Finding): Condition => {
    const status = ok ? 'True' : 'False';
    const previous = before.find((candidate) => candidate.type === type);
    return {
      type,
      status,
      reason,
      message: message.slice(0, LIMITS.conditionMessageLengthMax),
      observedGeneration: verdict.generation,
      lastTransitionTime: previous?.status === status ? previous.lastTransitionTime : now,
    };
  };
  return [
    condition('Accepted', verdict.accepted),
    condition('ResolvedRefs', verdict.resolvedRefs),
    condition('Programmed', programmedNow),
    condition('Ready', ready),
    ...(!ready.ok && STALLING.has(ready.reason) ? [condition('Stalled', { ...ready, ok: true })] : []),
  ];
};
