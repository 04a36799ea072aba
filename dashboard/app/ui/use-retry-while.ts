import { useEffect } from 'react';
import { useRevalidator } from '../remix.ts';

const RETRY_MS = 3_000;

/** Reloads the page's data every few seconds while `isMissing` is true. */
export const useRetryWhile = (isMissing: boolean): void => {
  const { revalidate, state } = useRevalidator();
  useEffect(() => {
    if (!isMissing || state !== 'idle') return;
    // An interval, because React can skip the state of a load that fails immediately. The effect would not run again.
    const timer = setInterval(revalidate, RETRY_MS);
    return () => clearInterval(timer);
  }, [isMissing, revalidate, state]);
};
