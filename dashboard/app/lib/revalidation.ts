import type { ShouldRevalidateFunction } from './remix.ts';

/** For loaders that do not look at the query: nothing of theirs changes while somebody filters, or opens a row, on the same page. */
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
