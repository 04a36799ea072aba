import { useEffect } from 'react';
import { useRevalidator } from '../remix.ts';

const RETRY_MS = 3_000;

/** Reloads the page's data every few seconds while `isMissing` is true. */
export const useRetryWhile = (isMissing: boolean): void => {
  const { revalidate, state } = useRevalidator();
  useEffect(() => {
    if (!isMissing || state !== 'idle') return;
    const timer = setTimeout(revalidate, RETRY_MS);
    return () => clearTimeout(timer);
  }, [isMissing, revalidate, state]);
};
