import type { ShouldRevalidateFunction } from '../remix.ts';
import { isFormEdited, isUnsaved } from '../ui/kept-form.ts';

/**
 * Skips the reload of what surrounds an edited form, or a form that could not be submitted. If it failed, an error page would
 * replace the form. The form's own route reports failures beside the form (`keepLoaded`).
 */
export const unlessFormEdited: ShouldRevalidateFunction = ({
  currentUrl,
  nextUrl,
  formMethod,
  actionResult,
  defaultShouldRevalidate,
}) => {
  const isReload = formMethod === undefined && currentUrl.href === nextUrl.href;
  // Remix passes a default of true, even after an error status (`keepSubmitted`).
  return (isFormEdited() && isReload) || isUnsaved(actionResult) ? false : defaultShouldRevalidate;
};

/** Like `unlessFormEdited`, and also skips a reload if only the query changes, for loaders that ignore the query. */
export const unlessQueryOnly: ShouldRevalidateFunction = (change) => {
  const { currentUrl, nextUrl, formMethod } = change;
  const isQueryOnly =
    (formMethod === undefined || formMethod === 'GET') &&
    currentUrl.pathname === nextUrl.pathname &&
    currentUrl.search !== nextUrl.search;
  return isQueryOnly ? false : unlessFormEdited(change);
};
