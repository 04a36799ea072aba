import type { ShouldRevalidateFunction } from '../remix.ts';

/** Skips a reload if only the query changes, for loaders that ignore the query. */
export const unlessQueryOnly: ShouldRevalidateFunction = ({
  currentUrl,
  nextUrl,
  formMethod,
  defaultShouldRevalidate,
}) => {
  const isQueryOnly =
    (formMethod === undefined || formMethod === 'GET') &&
    currentUrl.pathname === nextUrl.pathname &&
    currentUrl.search !== nextUrl.search;
  return isQueryOnly ? false : defaultShouldRevalidate;
};
