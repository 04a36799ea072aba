import { useEffect, useState } from 'react';
import type { Failure } from '../../src/pages/failures.ts';
import { paths } from '../paths.ts';
import {
  isRouteErrorResponse,
  useLoaderData,
  useLocation,
  type ClientActionFunctionArgs,
  type ClientLoaderFunctionArgs,
} from '../remix.ts';
import { useRetryWhile } from './use-retry-while.ts';

let editedForms = 0;
/** The paths of the pages that `useKept` shows. A page can have several routes with data. */
const keptPages: string[] = [];

/** Protects the page from being replaced by an error page until the returned function is called. */
export const keepEdited = (): (() => void) => {
  editedForms += 1;
  return () => {
    editedForms -= 1;
  };
};

/** Records that the page with this path is shown, until the returned function is called. */
export const keepPage = (pathname: string): (() => void) => {
  keptPages.push(pathname);
  return () => void keptPages.splice(keptPages.indexOf(pathname), 1);
};

/** Protects the page from being replaced by an error page while `isEdited` is true. */
export const useFormEdited = (isEdited: boolean): void => {
  useEffect(() => (isEdited ? keepEdited() : undefined), [isEdited]);
};

/** Returns whether the page has an edited form. An error page must not replace such a form. */
export const isFormEdited = (): boolean => editedForms > 0;

/** Replaces the data of a page that cannot be loaded while its form is edited. */
export interface Lost {
  /** The reason, as a sentence for users. */
  readonly lost: string;
}

/** Replaces the response to a submission that failed. */
export interface Unsaved {
  /** The reason, as a sentence for users. */
  readonly unsaved: string;
  /** True if the server may have processed the submission. Its response was lost, or reports an error of the server. */
  readonly isUnknown: boolean;
}

const isFailure = (data: unknown): data is Failure =>
  typeof data === 'object' && data !== null && 'title' in data && 'message' in data;

const isSignIn = (error: unknown): boolean =>
  error instanceof Response && (error.headers.get('location') ?? '').startsWith(paths.login());

const FIRST_SERVER_ERROR = 500;

/** Returns the failure that a response with this status and body reports. */
const responseFailure = (status: number, data: unknown): Unsaved => ({
  unsaved: isFailure(data) ? `${data.title}. ${data.message}` : `The dashboard’s server responds with ${status}.`,
  isUnknown: status >= FIRST_SERVER_ERROR,
});

const NO_RESPONSE: Unsaved = { unsaved: 'The dashboard’s server does not respond.', isUnknown: true };

const toUnsaved = (error: unknown): Unsaved => {
  if (isSignIn(error)) return { unsaved: 'You are signed out. Sign in in another tab.', isUnknown: false };
  if (error instanceof Response) return { unsaved: 'This object can no longer be edited here.', isUnknown: false };
  return isRouteErrorResponse(error) ? responseFailure(error.status, error.data) : NO_RESPONSE;
};

/** Describes a failed submission. `done` is what the submission does. */
export const failureText = ({ unsaved, isUnknown }: Unsaved, done: string): string =>
  `${isUnknown ? 'Possibly not' : 'Not'} ${done}. ${unsaved}`;

/** Returns whether a loader redirects to its own page, for example with a complete query. */
const isToSamePage = (error: unknown, url: string): boolean => {
  const location = error instanceof Response ? error.headers.get('location') : null;
  return location !== null && new URL(location, url).pathname === new URL(url).pathname;
};

/**
 * The `clientLoader` of a page with a form. If the page is shown and its form is edited, returns the reason for a failure instead of
 * showing an error page. The next page has nothing else to show, and its form is not edited.
 */
export const keepLoaded = async ({ request, serverLoader }: ClientLoaderFunctionArgs): Promise<unknown> => {
  try {
    return await serverLoader();
  } catch (error) {
    const isShown = keptPages.includes(new URL(request.url).pathname);
    if (!isShown || !isFormEdited() || isToSamePage(error, request.url)) throw error;
    return { lost: toUnsaved(error).unsaved } satisfies Lost;
  }
};

/**
 * The `clientLoader` of a route without a page. Returns the reason for a failure, because an error page would replace the page that
 * asks for the data.
 */
export const keepFetched = async ({ serverLoader }: ClientLoaderFunctionArgs): Promise<unknown> => {
  try {
    return await serverLoader();
  } catch (error) {
    if (isSignIn(error) && !isFormEdited()) throw error;
    return { unavailable: toUnsaved(error).unsaved };
  }
};

const UNSAVED_STATUS = 503;

/**
 * The `clientAction` of a form. Returns the reason for a failure instead of showing an error page, and calls `report` with it.
 * Rethrows redirects, except those to the login page.
 */
export const keepSubmitted = async (
  { serverAction }: ClientActionFunctionArgs,
  report?: (unsaved: Unsaved) => void,
): Promise<unknown> => {
  try {
    return await serverAction();
  } catch (error) {
    if (error instanceof Response && !isSignIn(error)) throw error;
    const unsaved = toUnsaved(error);
    report?.(unsaved);
    // After an error status, Remix does not reload the page, which would fail for the same reason (see also revalidation.ts).
    return Response.json(unsaved, { status: UNSAVED_STATUS });
  }
};

/** Posts a form without Remix, which would reload the page's data. */
export const postForm = async <Answer>(url: string, body: URLSearchParams): Promise<Answer | Unsaved> => {
  try {
    const response = await fetch(url, { method: 'POST', body });
    const answer: unknown = await response.json();
    return response.ok ? (answer as Answer) : responseFailure(response.status, answer);
  } catch {
    return NO_RESPONSE;
  }
};

export const isUnsaved = (answer: unknown): answer is Unsaved =>
  typeof answer === 'object' && answer !== null && 'unsaved' in answer;

const isLost = (data: object): data is Lost => 'lost' in data;

/**
 * Returns the last data that `keepLoaded` could load, and why newer data cannot be loaded. While it cannot, reloads the page's data
 * every few seconds.
 */
export const useKept = <Loader>() => {
  type Data = Extract<ReturnType<typeof useLoaderData<Loader>>, object>;
  const loaded = useLoaderData<Loader>() as Data | Lost;
  const { pathname } = useLocation();
  useEffect(() => keepPage(pathname), [pathname]);
  const [kept, setKept] = useState({ pathname, data: loaded });
  const lost = isLost(loaded) ? loaded.lost : undefined;
  if (lost === undefined && loaded !== kept.data) setKept({ pathname, data: loaded });
  useRetryWhile(lost !== undefined);
  const shown = lost === undefined ? loaded : kept.data;
  if (isLost(shown) || (lost !== undefined && kept.pathname !== pathname)) throw new Error('the page was never loaded');
  return { loaded: shown, lost };
};
