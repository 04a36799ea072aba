import type { ShouldRevalidateFunction } from '../remix.ts';

/** For loaders that ignore the query: their data does not change while the user filters, or opens a row, on the same page. */
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
