import { useState } from 'react';
import { useActionData, useFetcher, useLocation } from '../remix.ts';
import { isUnsaved, type Unsaved } from './kept-form.ts';

/**
 * Returns the action's response to the last submission until the next navigation. `useActionData` loses the response when the
 * page's data is reloaded. Live pages reload whenever an object changes, but a rejection must stay until the user has read it.
 */
const useLastActionData = <Action>(): ReturnType<typeof useActionData<Action>> => {
  const answer = useActionData<Action>();
  // Each submission and each navigation has its own key.
  const { key } = useLocation();
  const [last, setLast] = useState({ key, answer });
  const isNext = last.key !== key || (answer !== undefined && answer !== last.answer);
  if (isNext) setLast({ key, answer });
  return isNext ? answer : last.answer;
};

interface Submitted<Answer> {
  readonly answer: Answer;
  /** The reason why the submission failed. */
  readonly unsaved: Unsaved | undefined;
}

const split = <Answer>(last: Answer): Submitted<Answer | undefined> =>
  isUnsaved(last) ? { answer: undefined, unsaved: last } : { answer: last, unsaved: undefined };

/** Returns the action's response to the last submission, or the reason why the submission failed (`keepSubmitted`). */
export const useSubmitted = <Action>() => split(useLastActionData<Action>());

interface Fetched<Answer> {
  readonly state: 'idle' | 'loading' | 'submitting';
  readonly data: Answer;
}

/** Returns the last submission, unless it is forgotten or a new one is being sent. */
export const shownSubmission = <Answer>({ state, data }: Fetched<Answer>, forgotten: unknown) =>
  split(state === 'submitting' || data === forgotten ? undefined : data);

/**
 * A form that is submitted without a navigation, and its last submission (`keepSubmitted`) until the next one. A dialog calls `forget`
 * when it opens.
 */
export const useKeptFetcher = <Action>() => {
  const { Form, state, data } = useFetcher<Action>();
  const [forgotten, setForgotten] = useState<unknown>();
  const shown = shownSubmission({ state, data }, forgotten);
  return { Form, isSending: state !== 'idle', forget: () => setForgotten(data), ...shown };
};
