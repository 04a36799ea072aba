import { useState } from 'react';
import { useActionData, useLocation } from './remix.ts';

/**
 * What the page's action answered to the last submission, for as long as the page is open. `useActionData` forgets it when the page's
 * data is loaded again, which a live page does whenever somebody changes something: a refusal has to stay until it is read.
 */
export const useAnswer = <Action>(): ReturnType<typeof useActionData<Action>> => {
  const answer = useActionData<Action>();
  // Each submission and each navigation has its own.
  const { key } = useLocation();
  const [last, setLast] = useState({ key, answer });
  const isNext = last.key !== key || (answer !== undefined && answer !== last.answer);
  if (isNext) setLast({ key, answer });
  return isNext ? answer : last.answer;
};
