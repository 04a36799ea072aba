import { useState } from 'react';
import { useActionData, useLocation } from '../remix.ts';

/**
 * The action's response to the last submission, for as long as the page is open. `useActionData` forgets it when the page's data is loaded again. A
 * live page does that whenever a user changes something, but a refusal has to stay until it is read.
 */
export const useAnswer = <Action>(): ReturnType<typeof useActionData<Action>> => {
  const answer = useActionData<Action>();
  // Each submission and each navigation has its own key.
  const { key } = useLocation();
  const [last, setLast] = useState({ key, answer });
  const isNext = last.key !== key || (answer !== undefined && answer !== last.answer);
  if (isNext) setLast({ key, answer });
  return isNext ? answer : last.answer;
};
