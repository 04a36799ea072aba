import { readFileSync } from 'node:fs';
import path from 'node:path';
import { objectKey, objectRef, type ConditionReason, type ObjectRef, type ResourceObject } from '@standin/contract';
import { parseManifest } from '@standin/crds';
import type { StatusWritten } from '@standin/operator';
import type { DevOutput } from './dev-output.ts';

/** Reasons that resolve by themselves, and reasons that are reported for a different object. */
const NOT_REPORTED: ReadonlySet<ConditionReason> = new Set([
  'NotProgrammed',
  'PartiallyProgrammed',
  'Pending',
  'NoGateway',
  'AccountNotReady',
  'ProjectNotReady',
]);

/**
 * Reports when an endpoint becomes live, and when any object is removed or cannot be used. For an object that cannot be used,
 * reports its location and what to change.
 */
export const objectNotices = (output: DevOutput, where: (ref: ObjectRef, message: string) => string) => {
  /** The last known state of each object, by uid. */
  const states = new Map<string, string>();
  return {
    onStatus: ({ uid, ref, ready, conditions, url, wrote }: StatusWritten): void => {
      const condition = conditions.find(({ type }) => type === 'Ready');
      if (condition === undefined || (!ready && NOT_REPORTED.has(condition.reason))) return;
      const { observedGeneration } = condition;
      const message = ready ? condition.message : allProblems(conditions, condition.message);
      const state = ready ? `ready ${observedGeneration}` : message;
      const isNew = states.get(uid) !== state;
      states.set(uid, state);
      // Of ready objects, only endpoints with a new status are reported. One line at startup covers the others.
      if (!isNew || (ready && (ref.kind !== 'Endpoint' || !wrote))) return;
      output.notice({
        object: objectKey(ref),
        where: ready ? '' : where(ref, message),
        state: ready ? 'live' : 'not ready',
        ...(ready && { url }),
        message,
      });
    },
    onRemoved: (object: ResourceObject): void => {
      states.delete(object.metadata.uid);
      output.notice({ object: objectKey(objectRef(object)), where: '', state: 'gone', message: '' });
    },
  };
};

/** Returns the messages of the conditions that say what to correct. Ready has only the first of them. */
const allProblems = (conditions: StatusWritten['conditions'], first: string): string => {
  const messages = conditions
    .filter(({ type, status, reason }) => {
      const isProblem = (type === 'Accepted' || type === 'ResolvedRefs') && status === 'False';
      return isProblem && !NOT_REPORTED.has(reason) && !(type === 'ResolvedRefs' && reason === 'Invalid');
    })
    .map(({ message }) => message);
  return [...new Set([first, ...messages])].join(' ');
};

/** Matches a field such as `spec.json.headers[0]` at the beginning of a message. */
const FIELD = /^spec(?:\.[\w-]+|\[\d+\])*/;

/**
 * Returns the line of the field that a message begins with, such as `orders.yaml:12`, for an object that begins at `start`. Files
 * are relative to `dir`. If the file has changed since, returns the object's own line.
 */
export const fieldPlace = (dir: string, start: string, message: string): string => {
  const [, file = '', line = ''] = /^(.*):(\d+)$/.exec(start) ?? [];
  const field = FIELD.exec(message)?.[0] ?? '';
  const steps = [...field.matchAll(/([\w-]+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index));
  try {
    const { documents } = parseManifest(readFileSync(path.join(dir, file), 'utf8'));
    const document = documents.find((candidate) => candidate.line === Number(line));
    return `${file}:${document?.fieldLine(steps) ?? line}`;
  } catch {
    return start;
  }
};
