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

/** Kept free in a list of problems for what follows it. */
const ROOM_AFTER_PROBLEMS = 250;

/**
 * Returns the problems of an object in one message, which begins with the field of the first problem and ends with `more`. If not all
 * of them fit, the message says how many are missing.
 */
export const invalid = (problems: readonly Problem[], more = ''): Finding => {
  const list = listProblems(problems);
  // A suggestion ends in a question mark.
  return { ...fails('Invalid', `${list}${list.endsWith('?') ? '' : '.'}${more}`, problems[0]?.path), problems };
};

const listProblems = (problems: readonly Problem[]): string => {
  let list = '';
  for (const [index, { path, message }] of problems.entries()) {
    const next = `${index === 0 ? '' : '; '}${path}: ${message}`;
    if (index > 0 && list.length + next.length > LIMITS.conditionMessageLengthMax - ROOM_AFTER_PROBLEMS)
      return `${list}; and ${problems.length - index} more`;
    list += next;
  }
  return list;
};

/** Returns a finding with a further sentence. */
export const withSentence = (finding: Finding, sentence: string): Finding => ({
  ...finding,
  message: truncate(`${finding.message} ${sentence}`),
});

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
