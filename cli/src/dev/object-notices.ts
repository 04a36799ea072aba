import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ConditionReason, ObjectRef, ResourceObject } from '@standin/contract';
import { parseManifest } from '@standin/crds';
import type { StatusWritten } from '@standin/operator';
import type { DevOutput } from './dev-output.ts';

/** Reasons that pass by themselves, and those that another object is told of. */
const NOT_TOLD: ReadonlySet<ConditionReason> = new Set([
  'NotProgrammed',
  'PartiallyProgrammed',
  'Pending',
  'NoGateway',
  'AccountNotReady',
  'ProjectNotReady',
]);

const titleOf = ({ kind, namespace, name }: ObjectRef): string => `${kind} ${namespace}/${name}`;

/** Tells when an endpoint becomes live or goes, and of any object when it cannot be used: where it is written, and what to change. */
export const objectNotices = (output: DevOutput, where: (ref: ObjectRef, message: string) => string) => {
  /** What was last said or true of each object. */
  const states = new Map<string, string>();
  return {
    onStatus: ({ uid, ref, ready, conditions, wrote }: StatusWritten): void => {
      const condition = conditions.find(({ type }) => type === 'Ready');
      if (condition === undefined || (!ready && NOT_TOLD.has(condition.reason))) return;
      const { observedGeneration, message } = condition;
      const state = ready ? `ready ${observedGeneration}` : message;
      const isNew = states.get(uid) !== state;
      states.set(uid, state);
      // A status that is as it was is no news when all is well: a start says so in one line.
      if (!isNew || (ready && (ref.kind !== 'Endpoint' || !wrote))) return;
      output.notice({
        object: titleOf(ref),
        where: ready ? '' : where(ref, message),
        state: ready ? 'live' : 'not ready',
        message,
      });
    },
    onRemoved: ({ kind, metadata: { namespace, name, uid } }: ResourceObject): void => {
      states.delete(uid);
      output.notice({ object: titleOf({ kind, namespace, name }), where: '', state: 'gone', message: '' });
    },
  };
};

/** `spec.json.headers[0]` at a message's beginning. */
const FIELD = /^spec(?:\.\w+|\[\d+\])*/;

/**
 * `orders.yaml:12`, the line of the field that a message begins with, for an object that begins at `start`. Files are relative to
 * `dir`. Where the file has changed meanwhile: the object's own line.
 */
export const lineOfField = (dir: string, start: string, message: string): string => {
  const [, file = '', line = ''] = /^(.*):(\d+)$/.exec(start) ?? [];
  const field = FIELD.exec(message)?.[0] ?? '';
  const steps = [...field.matchAll(/(\w+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index));
  try {
    const { documents } = parseManifest(readFileSync(path.join(dir, file), 'utf8'));
    const document = documents.find((candidate) => candidate.line === Number(line));
    return `${file}:${document?.lineOf(steps) ?? line}`;
  } catch {
    return start;
  }
};
