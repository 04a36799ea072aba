import { LIMITS, type ConditionReason } from '@standin/contract';
import type { Problem } from '@standin/crds';
import type { Entry, Evaluation, Finding } from './types.ts';

const truncate = (message: string): string =>
  message.length <= LIMITS.conditionMessageLengthMax
    ? message
    : `${message.slice(0, LIMITS.conditionMessageLengthMax - 1)}…`;

export const holds = (reason: ConditionReason, message: string): Finding => ({ ok: true, reason, message });

export const fails = (reason: ConditionReason, message: string, path?: string): Finding => ({
  ok: false,
  reason,
  message: truncate(message),
  ...(path !== undefined && { path }),
});

export const ACCEPTED = holds('Accepted', 'The object is valid.');

/** The references of an invalid object are not checked, because they may be the problem. */
export const NOT_CHECKED = fails('Invalid', 'Not checked, because the object is not valid: see Accepted.');

/** Returns all problems of an object in one message, which begins with the field of the first problem and ends with `more`. */
export const invalid = (problems: readonly Problem[], more = ''): Finding =>
  fails(
    'Invalid',
    `${problems.map(({ path, message }) => `${path}: ${message}`).join('; ')}.${more}`,
    problems[0]?.path,
  );

/** Returns the evaluation of an object whose translation threw an error. */
export const defective = ({ ref, uid, generation }: Entry, error: unknown): Evaluation => ({
  verdict: {
    ref,
    uid,
    generation,
    configKey: undefined,
    status: {},
    accepted: fails(
      'Invalid',
      `The operator cannot process the object (${String(error)}). This is a bug in Standin: please report it.`,
    ),
    resolvedRefs: NOT_CHECKED,
  },
  config: undefined,
});

/** Returns the first finding that prevents an object from working, regardless of the gateways, or undefined if there is none. */
export const firstFault = ({ verdict }: Evaluation): Finding | undefined =>
  [verdict.accepted, verdict.resolvedRefs].find(({ ok }) => !ok);
