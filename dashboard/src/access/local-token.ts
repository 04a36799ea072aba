import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { bearerToken } from './bearer.ts';
import { readCookies, setCookie } from './cookies.ts';
import { returnPath } from './return-path.ts';

/** The token for `standin dev --require-token`. Each run creates a new one. */
export interface LocalToken {
  /** Returns whether the request contains the token, or the cookie that replaced it. */
  isSentBy(request: Pick<IncomingMessage, 'headers'>): boolean;
  /**
   * Responds to `GET …?token=TOKEN` with the cookie and a redirect to the same page without the token, or with 403 if the token is
   * wrong. Passes other requests on.
   */
  readonly exchange: RequestHandler;
}

/** The token expires when `standin dev` stops, regardless of the age of the cookie. */
const COOKIE_MAX_AGE_S = 30 * 86_400;
const PARAMETER = 'token';

/** Compares in constant time. */
const isSame = (given: string, wanted: string): boolean => {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
};

/**
 * Returns a name that contains the port, because browsers send cookies to every port of a host and each dashboard has its own
 * token.
 */
const cookieName = ({ headers }: Pick<IncomingMessage, 'headers'>): string =>
  `standin-dev-${/:(\d+)$/.exec(headers.host ?? '')?.[1] ?? '80'}`;

export const localToken = (token: string): LocalToken => {
  // Browsers send the cookie to every port of this host. The cookie does not contain the token, so another program that receives
  // the cookie cannot use it to call the API.
  const cookie = createHmac('sha256', token).update('standin-dev-cookie').digest('base64url');
  return {
    isSentBy: (request) => {
      const bearer = bearerToken(request);
      if (bearer !== undefined) return isSame(bearer, token);
      return isSame(readCookies(request.headers.cookie).get(cookieName(request)) ?? '', cookie);
    },
    exchange: (request, response, next) => {
      const url = new URL(`http://localhost${request.originalUrl}`);
      const given = url.searchParams.get(PARAMETER);
      if (request.method !== 'GET' || given === null) {
        next();
        return;
      }
      if (!isSame(given, token)) {
        refuseWithoutToken(
          response,
          403,
          'Invalid token. A token is valid only while the standin dev process that printed it is running.',
        );
        return;
      }
      url.searchParams.delete(PARAMETER);
      response.append(
        'set-cookie',
        setCookie(cookieName(request), cookie, { maxAgeS: COOKIE_MAX_AGE_S, sameSite: 'Strict', isSecure: false }),
      );
      response.redirect(303, returnPath(`${url.pathname}${url.search}`));
    },
  };
};

/** Responds with plain text that contains the reason and tells the user to open the printed URL. */
export const refuseWithoutToken = (
  response: Parameters<RequestHandler>[1],
  status: 401 | 403,
  reason = 'This dashboard requires a token.',
): void => {
  const advice = 'Open the URL that standin dev printed when it started. It contains the token.';
  response.status(status).type('text').send(`${reason}\n${advice}\n`);
};
