import { describe, expect, it } from 'vitest';
import { isRouteErrorResponse, type ClientActionFunctionArgs, type ClientLoaderFunctionArgs } from '../remix.ts';
import { failureText, keepFetched, keepLoaded, keepSubmitted, type Unsaved } from './kept-form.ts';

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
