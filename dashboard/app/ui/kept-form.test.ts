import { describe, expect, it, onTestFinished } from 'vitest';
import { isRouteErrorResponse, type ClientActionFunctionArgs, type ClientLoaderFunctionArgs } from '../remix.ts';
import {
  failureText,
  keepEdited,
  keepFetched,
  keepLoaded,
  keepPage,
  keepSubmitted,
  type Unsaved,
} from './kept-form.ts';

const failing = (error: unknown) => {
  // Remix also throws responses.
  const fail = (): never => {
    throw error;
  };
  return {
    request: new Request('http://localhost/p/a/b/replays/new?from=1h'),
    serverAction: fail,
    serverLoader: fail,
  } as unknown as ClientActionFunctionArgs & ClientLoaderFunctionArgs;
};

const redirectTo = (location: string): Response => new Response(null, { status: 302, headers: { location } });

/** An error response as Remix throws it. */
const errorResponse = (status: number, data: unknown) => {
  const error = { status, statusText: '', internal: false, data };
  expect(isRouteErrorResponse(error)).toBe(true);
  return error;
};

const FORBIDDEN = { kind: 'Forbidden', title: 'Permission denied', message: 'You may not create replays.' };

const SIGNED_OUT = 'You are signed out. Sign in in another tab.';
const GONE = 'This object can no longer be edited here.';

describe('a submission that fails', () => {
  it.each([
    ['the user is signed out', redirectTo('/login?to=%2F'), 'Not sent. You are signed out. Sign in in another tab.'],
    [
      'the server rejects it',
      errorResponse(403, FORBIDDEN),
      'Not sent. Permission denied. You may not create replays.',
    ],
    [
      'the server reports its own error',
      errorResponse(503, { ...FORBIDDEN, title: 'Temporarily unavailable', message: 'No response.' }),
      'Possibly not sent. Temporarily unavailable. No response.',
    ],
    [
      'a proxy responds',
      errorResponse(502, 'bad gateway'),
      'Possibly not sent. The dashboard’s server responds with 502.',
    ],
    [
      'the response is lost',
      new TypeError('Failed to fetch'),
      'Possibly not sent. The dashboard’s server does not respond.',
    ],
  ])('because %s says whether it may have been processed', async (_, error, text) => {
    const answer = (await keepSubmitted(failing(error))) as Response;
    // Remix reloads the page's data only after a status below 400.
    expect(answer.status).toBe(503);
    expect(failureText((await answer.json()) as Unsaved, 'sent')).toBe(text);
  });

  it('is not replaced by a redirect', async () => {
    const done = redirectTo('/p/a/b/replays/replay-1');
    await expect(keepSubmitted(failing(done))).rejects.toBe(done);
  });
});

describe('data that cannot be loaded while a form is edited', () => {
  const PAGE = '/p/a/b/replays/new';
  const LOST = { lost: 'The dashboard’s server does not respond.' };
  const noResponse = new TypeError('Failed to fetch');

  it.each([
    ['keeps the form of the page that is shown', PAGE, noResponse, LOST],
    ['shows an error page if it is the data of the next page', '/p/a/b/endpoints', noResponse, undefined],
    ['shows an error page if it is the data of another object', '/p/a/c/replays/new', noResponse, undefined],
    ['keeps the form if the user is signed out', PAGE, redirectTo('/login'), { lost: SIGNED_OUT }],
    ['keeps the form if it redirects to another page', PAGE, redirectTo('/p/a/b'), { lost: GONE }],
    ['follows a redirect of the page to itself', PAGE, redirectTo(`${PAGE}?from=2h`), undefined],
    ['follows the redirect of the next page', '/p/a/b/endpoints', redirectTo('/p/a/b'), undefined],
  ])('%s', async (_, shown, error, kept) => {
    const ends = [keepEdited(), keepPage(shown)];
    onTestFinished(() => ends.forEach((end) => end()));
    const loaded = keepLoaded(failing(error));
    await (kept === undefined ? expect(loaded).rejects.toBe(error) : expect(loaded).resolves.toEqual(kept));
  });

  it('shows an error page after the page is left', async () => {
    const ends = [keepEdited(), keepPage(PAGE), keepPage(PAGE)];
    onTestFinished(() => ends[0]?.());
    ends[1]?.();
    expect(await keepLoaded(failing(noResponse))).toEqual(LOST);
    ends[2]?.();
    await expect(keepLoaded(failing(noResponse))).rejects.toBe(noResponse);
  });

  it('keeps the page if its part cannot be loaded because the user is signed out', async () => {
    onTestFinished(keepEdited());
    expect(await keepFetched(failing(redirectTo('/login')))).toEqual({ unavailable: SIGNED_OUT });
  });
});

describe('data that cannot be loaded', () => {
  it('shows an error page if no form is edited', async () => {
    const error = new TypeError('Failed to fetch');
    await expect(keepLoaded(failing(error))).rejects.toBe(error);
  });

  it('does not replace the page that asks for it, unless the user is signed out', async () => {
    expect(await keepFetched(failing(new TypeError('Failed to fetch')))).toEqual({
      unavailable: 'The dashboard’s server does not respond.',
    });
    const toLogin = redirectTo('/login?to=%2F');
    await expect(keepFetched(failing(toLogin))).rejects.toBe(toLogin);
  });
});
