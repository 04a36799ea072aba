import { useState } from 'react';
import { useActionData, useLocation } from '../remix.ts';
import { isUnsaved, type Unsaved } from './kept-form.ts';

/**
 * Returns the action's response to the last submission until the next navigation. `useActionData` loses the response when the
 * page's data is reloaded. Live pages reload whenever an object changes, but a rejection must stay until the user has read it.
 */
export const useLastActionData = <Action>(): ReturnType<typeof useActionData<Action>> => {
  const answer = useActionData<Action>();
  // Each submission and each navigation has its own key.
  const { key } = useLocation();
  const [last, setLast] = useState({ key, answer });
  const isNext = last.key !== key || (answer !== undefined && answer !== last.answer);
  if (isNext) setLast({ key, answer });
  return isNext ? answer : last.answer;
};

/** Returns the action's response to the last submission, or the reason why the submission failed (`keepSubmitted`). */
export const useSubmitted = <Action>() => {
  type Answer = Exclude<ReturnType<typeof useActionData<Action>>, Unsaved>;
  const last = useLastActionData<Action>();
  return isUnsaved(last)
    ? { answer: undefined, unsaved: last.unsaved }
    : { answer: last as Answer, unsaved: undefined };
};
