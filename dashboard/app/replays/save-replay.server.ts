import { LIMITS, SourceError, type DesiredObject } from '@standin/contract';
import type { Problem } from '@standin/crds';
import type { Backend } from '../../src/backend.ts';
import { newReplayName } from '../../src/replays/replays.ts';
import { toFormErrors, NO_ERRORS } from '../ui/form-errors.ts';
import { refusedForm, saveForm, type SavedForm } from '../ui/save-form.server.ts';
import { filledLines } from '../ui/text-lines.ts';
import { REPLAY_FIELDS, type ReplayValues } from './replay-values.ts';
import { SUBMISSION } from './submission.tsx';

/** Replaces the API server's message about an edited body that is too long. */
const TOO_LARGE =
  `exceeds ${LIMITS.replayEditBytesMax / 1_000} kB, the maximum size of the edits in a Replay. ` +
  'Use another client to send a larger request';

const UNREADABLE =
  'Possibly sent: the API server reports a conflict, probably with the Replay of your first try, which you may not read.';

/** Adapts a problem to the form. Adds the line number to a header's problem, because the form has one field for all headers. */
const inForm = (problem: Problem, headers: string): Problem => {
  if (problem.path === 'spec.edit.body' && /^too long/i.test(problem.message))
    return { ...problem, message: TOO_LARGE };
  const [, index] = /^spec\.edit\.headers\[(\d+)\]/.exec(problem.path) ?? [];
  const line = filledLines(headers)[Number(index)];
  if (line === undefined) return problem;
  // Without a name before a colon, the API server reports an empty name, but the line is not empty.
  const isNameMissing = problem.path.endsWith('.name') && line.text.indexOf(':') < 1;
  const message = isNameMissing ? 'must have the form name: value' : problem.message;
  return { path: 'spec.edit.headers', message: `line ${line.number}: ${message}` };
};

/** Returns the name of the Replay that a form creates. It is the same if the form is submitted again with the same content. */
export const submittedReplayName = (form: FormData, content: unknown): string => {
  const submission = form.get(SUBMISSION);
  return newReplayName(typeof submission === 'string' ? JSON.stringify([submission, content]) : undefined);
};

/**
 * Creates a Replay with the user's permissions. If an earlier submission of the same form has created it, returns that Replay.
 * If the user may not read it, it is unknown whether it is this Replay. Assigns errors to the fields of the replay form only if `values`
 * is given.
 */
export const createReplay = async (
  { resources }: Backend,
  object: DesiredObject,
  values?: ReplayValues,
): Promise<SavedForm> => {
  const saved = await saveForm(resources.apply(object, 'absent'), (problems) =>
    toFormErrors(
      problems.map((problem) => inForm(problem, values?.['spec.edit.headers'] ?? '')),
      values === undefined ? [] : REPLAY_FIELDS,
    ),
  );
  if (!saved.isConflict) return saved;
  const { namespace, name } = object.metadata;
  const existing = await resources.get({ kind: 'Replay', namespace, name }).catch((error: unknown) => {
    if (error instanceof SourceError && error.kind === 'Forbidden') return 'forbidden' as const;
    throw error;
  });
  if (existing === 'forbidden') return { ...refusedForm({ fields: {}, form: [UNREADABLE] }), isUnknown: true };
  return existing === undefined ? saved : { ...saved, object: existing, errors: NO_ERRORS, isConflict: false };
};
