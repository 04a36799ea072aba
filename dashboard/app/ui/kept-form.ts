import { useState } from 'react';
import type { Failure } from '../../src/pages/failures.ts';
import { paths } from '../paths.ts';
import { isRouteErrorResponse } from '../remix.ts';
import { useRetryWhile } from './use-retry-while.ts';

let editedForms = 0;

/** Records that the page has an edited form, until the returned function is called. */
export const setFormEdited = (): (() => void) => {
  editedForms += 1;
  return () => {
    editedForms -= 1;
  };
};

/** Returns whether the page has a form with unsaved changes. An error page must not replace such a form. */
export const isFormEdited = (): boolean => editedForms > 0;

/** Replaces the data of a page that cannot be loaded while its form has unsaved changes. */
export interface Lost {
  /** The reason, as a sentence for users. */
  readonly lost: string;
}

/** Replaces the response to a submission that failed. */
export interface Unsaved {
  /** The reason, as a sentence for users. */
  readonly unsaved: string;
}

const isFailure = (data: unknown): data is Failure =>
  typeof data === 'object' && data !== null && 'title' in data && 'message' in data;

const isSignIn = (error: Response): boolean => (error.headers.get('location') ?? '').startsWith(paths.login());

const reasonOf = (error: unknown): string => {
  if (error instanceof Response)
    return isSignIn(error)
      ? 'You are signed out. Sign in in another tab.'
      : 'This object can no longer be edited here.';
  if (!isRouteErrorResponse(error)) return 'The dashboard’s server does not respond.';
  const data: unknown = error.data;
  return isFailure(data) ? `${data.title}. ${data.message}` : `The dashboard’s server responds with ${error.status}.`;
};

/** For a route's `clientLoader`. If the page has an edited form, returns the reason for a failure instead of showing an error page. */
export const keepLoaded = async <Data>(load: () => Promise<Data>): Promise<Data | Lost> => {
  try {
    return await load();
  } catch (error) {
    if (!isFormEdited()) throw error;
    return { lost: reasonOf(error) };
  }
};

/** For a route's `clientAction`. Returns the reason for a failure instead of showing an error page. Rethrows redirects. */
export const keepSubmitted = async <Data>(submit: () => Promise<Data>): Promise<Data | Unsaved> => {
  try {
    return await submit();
  } catch (error) {
    if (error instanceof Response && !isSignIn(error)) throw error;
    return { unsaved: reasonOf(error) };
  }
};

export const isUnsaved = (answer: unknown): answer is Unsaved =>
  typeof answer === 'object' && answer !== null && 'unsaved' in answer;

const isLost = (data: object): data is Lost => 'lost' in data;

/**
 * Returns the last data that could be loaded, and why newer data cannot be loaded. While it cannot, reloads the page's data every
 * few seconds.
 */
export const useKept = <Data extends object>(
  loaded: Data | Lost,
): { readonly loaded: Data; readonly lost: string | undefined } => {
  const [kept, setKept] = useState(loaded);
  const lost = isLost(loaded) ? loaded.lost : undefined;
  if (lost === undefined && loaded !== kept) setKept(loaded);
  useRetryWhile(lost !== undefined);
  const shown = lost === undefined ? loaded : kept;
  if (isLost(shown)) throw new Error('the page was never loaded');
  return { loaded: shown, lost };
};
