import { useEffect } from 'react';
import { useRevalidator } from '../remix.ts';

const RETRY_MS = 3_000;

/** Reloads the page's data every few seconds while `isUnavailable` is true. */
export const useRetryWhile = (isUnavailable: boolean): void => {
  const { revalidate, state } = useRevalidator();
  useEffect(() => {
    if (!isUnavailable || state !== 'idle') return;
    const timer = setTimeout(revalidate, RETRY_MS);
    return () => clearTimeout(timer);
  }, [isUnavailable, revalidate, state]);
};
